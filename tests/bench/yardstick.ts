/**
 * A yardstick for generation: a program that makes about as many names, texts and objects as a task
 * has, in the plainest way, without graph, uniqueness or streams.
 */
export function yardstick(functions: number, parameters: number, seed: number): unknown {
  let state = seed * 2654435761 | 1;
  const draw = (range: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % range;
  };
  const word = (length: number) => {
    let letters = "";
    for (let left = length; left > 0; left--) letters += String.fromCharCode(97 + draw(26));
    return letters;
  };
  const values = new Map<string, number>();
  const prompt: string[] = [];
  const tools: unknown[] = [];
  let left = parameters;
  for (let made = 0; made < functions; made++) {
    const own = Math.round(left / (functions - made));
    left -= own;
    const properties: Record<string, unknown> = {};
    const required: string[] = [];
    const clauses: string[] = [];
    for (let place = 0; place < own; place++) {
      const name = word(4 + draw(3));
      properties[name] = { type: "integer" };
      required.push(name);
      clauses.push(`variable ${name} (type_${word(3)} with subtype_${word(3)})`);
      values.set(name, 100 + draw(900));
    }
    const output = word(4 + draw(3));
    values.set(output, 100 + draw(900));
    if (made % 4 === 0) prompt.push(`Variable ${output} = ${values.get(output)}`);
    tools.push({
      name: `func_${word(3)}`,
      description: `Processes ${clauses.join(", ")} to produce variable ${output} ` +
        `(type_${word(3)} with subtype_${word(3)})`,
      strict: true,
      parameters: { type: "object", properties, required, additionalProperties: false },
    });
  }
  return { prompt: prompt.join("\n"), tools, values };
}
