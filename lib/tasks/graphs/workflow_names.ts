/**
 * Names of workflows: functions, variables and types of one domain, such as `book_airport_taxi` and
 * `chosen_hotel_id` (FuncBenchGen, section 3.3). The domain and all words are drawn from the seed. The name of a
 * function tells the type of its output, and that of a variable its own type: which value belongs to a parameter
 * is told by types and subtypes alone, as with random names.
 * @module
 */

import { sample } from "@std/random";
import type { Stream } from "../../base/random.ts";
import {
  capital,
  drawn,
  joined,
  type NameStyle,
  QUALIFIERS,
  WordNames,
  words,
  wordsOfName,
} from "./word_names.ts";

/** What a workflow is about. */
interface Domain {
  /** The types: things, each with what is done to it and to no other. No thing is of two domains. */
  readonly things: ReadonlyMap<string, readonly string[]>;
  /** The kinds of these things. */
  readonly kinds: readonly string[];
  /** What can be special about one of them. */
  readonly details: readonly string[];
}

function domain(things: string, kinds: string, details: string): Domain {
  const entries = things.split(", ").map(words);
  return {
    things: new Map(entries.map(([thing, ...verbs]) => [thing!, verbs])),
    kinds: words(kinds),
    details: words(details),
  };
}

/** The domains, all of the same size. */
export const DOMAINS: Readonly<Record<string, Domain>> = {
  travel: domain(
    "hotel reserve recommend, tour book join, taxi book order, flight book rebook, ferry board book, " +
      "train book board, museum visit suggest, cruise book plan, excursion plan join, hostel reserve rate, " +
      "airport locate suggest, beach locate recommend",
    "city family seaside private shared luxury budget weekend evening morning mountain island business " +
      "guided nearby popular historic northern southern express",
    "arrival departure cancellation voucher itinerary transfer luggage upgrade pickup deposit schedule " +
      "discount rating permit",
  ),
  shop: domain(
    "product restock recommend, basket fill clear, coupon redeem issue, supplier rate contact, refund issue " +
      "approve, gift wrap send, wishlist share update, seller rate contact, preorder cancel extend, catalogue " +
      "publish update, bundle build offer, brand promote compare",
    "outdoor bathroom clothing toy garden sports beauty grocery seasonal holiday clearance wholesale " +
      "imported handmade organic premium budget local featured returned",
    "discount delivery payment warranty review invoice packaging size colour return stock price " +
      "description availability",
  ),
  hospital: domain(
    "patient admit discharge, doctor assign page, ward prepare open, surgery schedule postpone, nurse assign " +
      "page, medicine prescribe dispense, vaccine order administer, biopsy request evaluate, diagnosis record " +
      "revise, referral send approve, appointment book cancel, ambulance dispatch call",
    "cardiac dental children eye heart emergency routine outpatient surgical maternity orthopaedic skin " +
      "weekend night private visiting specialist general chronic trauma",
    "treatment prescription dosage history consent examination therapy recovery transfer equipment " +
      "supervision priority insurance record",
  ),
  logistics: domain(
    "parcel send track, pallet load move, truck dispatch refuel, depot open inspect, container seal unload, " +
      "driver assign brief, route plan shorten, shipment split track, courier assign call, dock assign clear, " +
      "warehouse inspect restock, forklift repair assign",
    "express overnight fragile chilled bulk coastal export import regional domestic heavy oversized " +
      "northern southern harbour rail air road sealed insured",
    "delivery pickup customs weight loading unloading destination insurance signature delay inspection " +
      "clearance label handover",
  ),
  staff: domain(
    "employee hire promote, candidate interview shortlist, payroll run approve, vacation approve request, " +
      "contract sign renew, manager assign alert, timesheet submit approve, training schedule offer, vacancy " +
      "publish close, bonus grant compute, shift swap plan, intern welcome assign",
    "remote junior senior sales finance legal marketing engineering weekend night seasonal temporary " +
      "regional overseas graduate technical support factory office field",
    "salary promotion probation reference certificate clearance overtime pension attendance appraisal " +
      "notice reimbursement relocation allowance",
  ),
  bank: domain(
    "account open freeze, loan approve refinance, mortgage approve compute, cheque cash stop, remittance send " +
      "schedule, customer advise alert, statement print send, fund rebalance close, payee add block, branch " +
      "locate rate, adviser assign contact, creditcard block issue",
    "savings business student joint foreign euro corporate retail youth pension trading household personal " +
      "agricultural regional online rural secured unsecured travel",
    "interest repayment balance guarantee collateral signature overdraft limit fee penalty risk currency " +
      "withdrawal maturity",
  ),
  university: domain(
    "applicant admit advise, lecture schedule record, seminar schedule offer, thesis submit grade, professor " +
      "invite assign, scholarship grant extend, exam grade schedule, dormitory assign inspect, diploma print " +
      "award, laboratory reserve equip, textbook order lend, semester plan close",
    "physics chemistry history law music biology summer winter evening graduate foreign visiting practical " +
      "advanced introductory honours exchange science art medical",
    "attendance credit deadline registration transcript tuition supervision grading prerequisite " +
      "certificate enrolment waiver assessment feedback",
  ),
  insurance: domain(
    "policy renew cancel, claim submit settle, tariff compute adjust, insurer contact rate, accident report " +
      "assess, broker assign contact, quote request compare, payout approve release, damage assess " +
      "photograph, beneficiary add alert, inspector assign send, witness interview contact",
    "car home travel health pet boat flood fire theft liability bicycle farm business family dental " +
      "motorcycle commercial household marine rental",
    "coverage excess deductible exclusion settlement inspection arbitration expiry renewal evidence " +
      "assessment compensation surcharge endorsement",
  ),
  events: domain(
    "concert announce postpone, venue reserve inspect, ticket sell scan, speaker invite introduce, caterer " +
      "hire brief, sponsor thank contact, exhibitor invite assign, guest invite seat, band book pay, stage " +
      "build light, workshop announce host, conference open host",
    "outdoor charity jazz opera business evening weekend annual festival theatre dance summer winter press " +
      "student family rooftop downtown award opening",
    "seating catering lighting sound registration sponsorship programme rehearsal parking security " +
      "accommodation recording invitation fee",
  ),
  housing: domain(
    "apartment rent inspect, tenant screen alert, landlord contact pay, lease sign renew, viewing arrange " +
      "cancel, house appraise sell, plumber call pay, garage rent clean, mover hire pay, cottage rent advertise, " +
      "boiler repair replace, neighbour alert invite",
    "downtown suburban furnished rural lakeside ground attic studio family student luxury rented vacant " +
      "historic renovated modern shared holiday northern southern",
    "deposit heating maintenance inventory inspection parking cleaning notice utility renovation balcony " +
      "occupancy balance access",
  ),
  support: domain(
    "incident escalate resolve, server restart patch, laptop replace repair, licence assign renew, printer " +
      "repair install, password reset revoke, backup restore run, network scan repair, database migrate " +
      "restore, technician assign call, mailbox create archive, website deploy monitor",
    "remote office cloud wireless internal external staging production finance sales legacy test public " +
      "virtual mobile secure regional shared spare critical",
    "access outage upgrade encryption maintenance warranty storage configuration permission downtime " +
      "monitoring rollback latency approval",
  ),
  restaurant: domain(
    "table reserve clear, menu print plan, dish cook serve, waiter assign call, chef assign praise, recipe " +
      "adapt share, buffet prepare close, dessert serve recommend, cocktail mix serve, banquet plan cater, " +
      "kitchen clean inspect, takeaway pack deliver",
    "vegan seafood italian rooftop family wedding lunch dinner breakfast weekend garden private seasonal " +
      "festive spicy grilled regional children tasting signature",
    "allergy seating delivery garnish portion discount sauce dressing payment preparation ingredient " +
      "pairing service tip",
  ),
};

/** What is done to things of all kinds. */
export const VERBS = words("find check confirm select fetch review");

/** The words of subtypes before a detail. */
export const STATES = words(
  "early late fixed flexible full partial verified pending urgent extended reduced automatic written prepaid " +
    "recurring limited valid separate detailed regular missing revised archived approved provisional delayed " +
    "combined waived optional mandatory agreed estimated additional complete disputed minimal",
);

/** The last words of variables: whole numbers can be any of these. */
export const NUMBERS = words("id number code key reference token index label");

/** Draws names of one workflow. */
export class WorkflowNames extends WordNames {
  #domain: Domain | undefined;

  /** The workflow is that of which `taken` names things; where it names none, its domain is drawn. */
  constructor(taken: Iterable<string> = []) {
    const names = [...taken];
    super(names);
    this.#domain = Object.values(DOMAINS)
      .find(({ things }) => names.flatMap(wordsOfName).some((word) => things.has(word)));
  }

  /** A new type, such as `hotel`. */
  override type(stream: Stream): string {
    const { things, kinds } = this.#domain ??= sample(Object.values(DOMAINS), stream)!;
    return this.draw((further) =>
      [...drawn(kinds, further, stream), sample([...things.keys()], stream)!].join(" ")
    );
  }

  /** A new subtype, such as `early arrival`. */
  override subtype(stream: Stream): string {
    return this.draw((further) =>
      [...drawn(STATES, 1 + further, stream).sort(), sample(this.#domain!.details, stream)!].join(
        " ",
      )
    );
  }

  /** A new name for a variable of a type, such as `chosen_hotel_id`. */
  override variable(stream: Stream, type: string, _ofType: boolean, style: NameStyle): string {
    const last = style.id ? ["id"] : undefined;
    return this.draw((further) =>
      joined([
        ...drawn(QUALIFIERS, 1 + further, stream),
        this.#thingIn(type),
        ...last ?? [sample(NUMBERS, stream)!],
      ], style.camelCase)
    );
  }

  /** A new name for a parameter: of the type of its variable, and apart from that drawn like any other. */
  override parameter(stream: Stream, variable: string): string {
    return this.variable(stream, this.#thingIn(variable), true, { id: false, camelCase: false });
  }

  /** A new name for a function that produces a variable of a type, such as `book_airport_taxi`. */
  override function(stream: Stream, variable: string): string {
    const thing = this.#thingIn(variable);
    const { things, kinds } = this.#domain!;
    const verbs = [...things.get(thing)!, ...VERBS];
    return this.draw((further) =>
      [sample(verbs, stream)!, ...drawn(kinds, 1 + further, stream), thing].join("_")
    );
  }

  #thingIn(name: string): string {
    return wordsOfName(name).findLast((word) => this.#domain!.things.has(word))!;
  }
}

/** What a function of a workflow does, as its description begins: `Books the airport taxi`. */
export function deedOf(name: string): string {
  const [verb = "", ...rest] = wordsOfName(name);
  return `${capital(verb)}${/(?:[sx]|[cs]h)$/.test(verb) ? "es" : "s"} the ${rest.join(" ")}`;
}
