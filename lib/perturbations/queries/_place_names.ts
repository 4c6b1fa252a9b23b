/**
 * Names of capitals and countries, each with a description that does not contain the name.
 * @module
 */

const CAPITALS: readonly (readonly [city: string, country: string])[] = [
  ["Paris", "France"],
  ["Berlin", "Germany"],
  ["Madrid", "Spain"],
  ["Lisbon", "Portugal"],
  ["Rome", "Italy"],
  ["Vienna", "Austria"],
  ["Bern", "Switzerland"],
  ["Brussels", "Belgium"],
  ["Amsterdam", "the Netherlands"],
  ["Copenhagen", "Denmark"],
  ["Stockholm", "Sweden"],
  ["Oslo", "Norway"],
  ["Helsinki", "Finland"],
  ["Warsaw", "Poland"],
  ["Prague", "the Czech Republic"],
  ["Budapest", "Hungary"],
  ["Athens", "Greece"],
  ["Dublin", "Ireland"],
  ["London", "the United Kingdom"],
  ["Ankara", "Turkey"],
  ["Kyiv", "Ukraine"],
  ["Cairo", "Egypt"],
  ["Nairobi", "Kenya"],
  ["Accra", "Ghana"],
  ["Rabat", "Morocco"],
  ["Tokyo", "Japan"],
  ["Seoul", "South Korea"],
  ["Beijing", "China"],
  ["New Delhi", "India"],
  ["Bangkok", "Thailand"],
  ["Hanoi", "Vietnam"],
  ["Jakarta", "Indonesia"],
  ["Manila", "the Philippines"],
  ["Canberra", "Australia"],
  ["Wellington", "New Zealand"],
  ["Ottawa", "Canada"],
  ["Buenos Aires", "Argentina"],
  ["Lima", "Peru"],
  ["Santiago", "Chile"],
  ["Havana", "Cuba"],
];

const withoutArticle = (country: string) => country.replace(/^the /, "");

const DESCRIBED_CITIES = CAPITALS.map(([city, country]) =>
  [city, `the capital of ${country}`] as const
);
const DESCRIBED_COUNTRIES: readonly (readonly [string, string])[] = CAPITALS.map(
  ([city, country]) => [withoutArticle(country), `the country whose capital is ${city}`] as const,
);

/** A place from the tables above. */
interface Spot {
  /** A description without its name. */
  readonly description: string;
  /** The names of all places of the same kind, including its own. */
  readonly alike: readonly string[];
}

const PLACES = new Map(
  [DESCRIBED_CITIES, DESCRIBED_COUNTRIES].flatMap((kind) => {
    const names = kind.map(([name]) => name);
    return kind.map(([name, description]): [string, Spot] => [
      name.toLowerCase(),
      { description, alike: names },
    ]);
  }),
);

/** Finds a place by name in any case, also by `Paris, France`, but not by `Paris, Texas`. */
export function findPlace(name: string): Spot | undefined {
  const whole = PLACES.get(name.toLowerCase());
  if (whole !== undefined) return whole;
  const [city = "", region, ...rest] = name.split(",").map((part) => part.trim());
  if (region === undefined || region === "" || rest.length > 0) return undefined;
  const place = PLACES.get(city.toLowerCase());
  return place?.description.toLowerCase().endsWith(` ${region.toLowerCase()}`) ? place : undefined;
}
