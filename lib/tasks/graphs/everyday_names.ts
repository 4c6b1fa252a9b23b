/**
 * Everyday names: functions, variables and types named as people name them, such as `find_room_price`. The
 * words are known to every model; which of them a task has, and what depends on what, is drawn anew.
 * @module
 */

import { randomIntegerBetween, sample, shuffle } from "@std/random";
import type { Stream } from "../../base/random.ts";
import {
  capital,
  drawn,
  joined,
  type NameStyle,
  WordNames,
  words,
  wordsOfName,
} from "./word_names.ts";

/** Domains of everyday life, each with as many nouns; no word occurs twice in this file. */
const DOMAINS: Readonly<Record<string, string>> = {
  hotel: "room guest booking suite lobby minibar checkout keycard laundry breakfast",
  kitchen: "oven recipe pantry saucepan spice freezer dish menu chef kettle",
  garden: "flowerbed seedling hedge lawn compost sprinkler greenhouse trellis shrub gardener",
  library: "book shelf reader loan chapter catalogue author magazine archive bookmark",
  post: "parcel letter stamp courier mailbox envelope postcard depot sender address",
  bakery: "loaf dough pastry flour cake muffin baker biscuit bagel yeast",
  school: "pupil lesson teacher classroom exam homework timetable playground term locker",
  clinic: "patient nurse vaccine ward dentist bandage surgery checkup ambulance splint",
  museum: "exhibit painting sculpture ticket curator gallery fossil tour visitor statue",
  theatre: "actor costume curtain rehearsal audience script spotlight balcony prop encore",
  farm: "barn cow harvest tractor orchard field hen silo pasture farmer",
  harbour: "ship dock anchor cargo crane ferry sailor lighthouse buoy container",
  railway: "train platform carriage conductor signal track tunnel locomotive station junction",
  market: "stall vendor basket fruit cheese coupon crate fishmonger receipt bargain",
  workshop: "drill hammer bench screw plank chisel toolbox varnish apprentice blade",
  bank: "account teller deposit vault cheque mortgage branch cashier invoice coin",
  cinema: "film screen usher popcorn trailer projector matinee director sequel poster",
  airport: "flight runway luggage pilot terminal gate passenger hangar airline propeller",
  zoo: "lion keeper enclosure penguin aquarium giraffe feeding monkey habitat parrot",
  weather: "forecast storm cloud rainfall frost barometer sunrise breeze snowfall fog",
  stadium: "match player coach referee league trophy goalkeeper tournament turnstile scarf",
  garage: "car engine tyre mechanic brake battery gearbox mirror bonnet exhaust",
  house: "roof window staircase attic chimney tenant cellar carpet doorbell hallway",
  camp: "tent campfire lantern backpack trail compass canoe ranger hammock picnic",
};

/** What a number can say about a noun. */
const ATTRIBUTES = words(
  "number code count total price weight height length width age score rank level rate limit date " +
    "year duration distance balance discount fee tax quota capacity volume budget size cost depth speed area",
);

const ADJECTIVES = words(
  "early late spare main small large quiet busy northern southern eastern western upper lower inner " +
    "outer old young fresh seasonal daily weekly monthly annual regular special private public local " +
    "foreign urgent minor major open closed full empty clean wooden silver golden purple green blue red " +
    "white black yellow narrow wide heavy light rapid slow simple grand double single joint shared summer " +
    "winter autumn lucky gentle proud brave calm",
);

const VERBS = words(
  "find fetch read check compute estimate measure load plan choose resolve update request list derive " +
    "record calculate show review confirm retrieve search query collect",
);

/** The words that set a parameter apart from the variable that it takes. */
const QUALIFIERS = words(
  "given chosen current known final latest first base source requested actual stated related planned " +
    "matching original listed default relevant recorded expected declared initial wanted",
);

const PLACES = Object.keys(DOMAINS);
const NOUNS = Object.values(DOMAINS).map(words);

/** Every list of words; a word's meaning for a name is the list that it is on. */
export const EVERYDAY_WORDS: readonly (readonly string[])[] = [
  ...[PLACES, ...NOUNS],
  ...[ATTRIBUTES, ADJECTIVES, VERBS, QUALIFIERS],
];

/** Draws everyday names. */
export class EverydayNames extends WordNames {
  /** The domain of each type. */
  readonly #domains = new Map<string, number>();

  /** A new type, such as `HotelGuest`. */
  override type(stream: Stream): string {
    return this.draw((further) => {
      const domain = randomIntegerBetween(0, PLACES.length - 1, stream);
      const noun = sample(NOUNS[domain]!, stream)!;
      const name = [...adjectives(further, stream), PLACES[domain]!, noun].map(capital).join("");
      this.#domains.set(name, domain);
      return name;
    });
  }

  /** A new subtype, such as `NorthernDaily`. */
  override subtype(stream: Stream): string {
    // In one order only: the same words in another would be read as the same subtype.
    return this.draw((further) => adjectives(2 + further, stream).sort().map(capital).join(""));
  }

  /** A new name for a variable of a type: of its domain, or of any other. */
  override variable(
    stream: Stream,
    type: string,
    ofType: boolean,
    { id, camelCase }: NameStyle,
  ): string {
    const own = this.#domains.get(type);
    return this.draw((further) => {
      const others = PLACES.length - (own === undefined ? 0 : 1);
      const domain = own !== undefined && ofType
        ? own
        : ((own ?? 0) + randomIntegerBetween(own === undefined ? 0 : 1, others, stream)) %
          PLACES.length;
      const noun = sample(NOUNS[domain]!, stream)!;
      const last = id ? "id" : sample(ATTRIBUTES, stream)!;
      return joined([...adjectives(further, stream), noun, last], camelCase);
    });
  }

  /** A new name for a parameter that suggests a variable, such as `given_room_price`. */
  override parameter(stream: Stream, variable: string): string {
    return this.draw((further) =>
      [...drawn(QUALIFIERS, 1 + further, stream), ...wordsOfName(variable)].join("_")
    );
  }

  /** A new name for a function that suggests a variable, such as `find_room_price`. */
  override function(stream: Stream, variable: string): string {
    return this.draw((further) =>
      [sample(VERBS, stream)!, ...drawn(QUALIFIERS, further, stream), ...wordsOfName(variable)]
        .join("_")
    );
  }
}

/**
 * Draws another word for each one: a domain takes the place of another with all its nouns, so that names
 * which suggested each other before still do.
 */
export function otherWords(stream: Stream): ReadonlyMap<string, string> {
  const places = shuffle([...PLACES.keys()], stream);
  const nouns = shuffle([...NOUNS[0]!.keys()], stream);
  return new Map([
    ...places.flatMap((place, from): [string, string][] => [
      [PLACES[from]!, PLACES[place]!],
      ...nouns.map((to, noun): [string, string] => [NOUNS[from]![noun]!, NOUNS[place]![to]!]),
    ]),
    ...[ATTRIBUTES, ADJECTIVES, VERBS, QUALIFIERS].flatMap((list) => {
      const shuffled = shuffle([...list], stream);
      return list.map((word, place): [string, string] => [word, shuffled[place]!]);
    }),
  ]);
}

function adjectives(count: number, stream: Stream): string[] {
  return drawn(ADJECTIVES, count, stream);
}
