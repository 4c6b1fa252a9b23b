/**
 * Names of places, each with a description that does not contain the name.
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

const CITIES: readonly (readonly [city: string, description: string])[] = [
  ["New York", "the most populous city of the United States"],
  ["Los Angeles", "the city that Hollywood belongs to"],
  ["Chicago", "the largest city on Lake Michigan"],
  ["San Francisco", "the city at the Golden Gate"],
  ["Seattle", "the city of the Space Needle"],
  ["Boston", "the capital of Massachusetts"],
  ["Miami", "the city next to the Everglades"],
  ["Barcelona", "the city of the Sagrada Família"],
  ["Munich", "the capital of Bavaria"],
  ["Hamburg", "the largest port of Germany"],
  ["Milan", "the capital of Lombardy"],
  ["Venice", "the Italian city whose streets are canals"],
  ["Lyon", "the French city where the Saône flows into the Rhône"],
  ["Marseille", "the oldest French port on the Mediterranean"],
  ["Edinburgh", "the capital of Scotland"],
  ["Istanbul", "the city on both sides of the Bosphorus"],
  ["Mumbai", "the capital of Maharashtra"],
  ["Shanghai", "the city at the mouth of the Yangtze"],
  ["Osaka", "the largest city of the Kansai region"],
  ["Sydney", "the capital of New South Wales"],
  ["Melbourne", "the capital of the Australian state of Victoria"],
  ["Toronto", "the capital of Ontario"],
  ["Vancouver", "the largest city of British Columbia"],
  ["Cape Town", "the city below Table Mountain"],
  ["Rio de Janeiro", "the city below the Sugarloaf and the statue on Corcovado"],
  ["Singapore", "the city state at the southern tip of the Malay Peninsula"],
];

const withoutArticle = (country: string) => country.replace(/^the /, "");

const DESCRIBED_CITIES: readonly (readonly [string, string])[] = [
  ...CAPITALS.map(([city, country]) => [city, `the capital of ${country}`] as const),
  ...CITIES,
];
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
