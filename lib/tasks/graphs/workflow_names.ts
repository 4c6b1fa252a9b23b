/**
 * Names of workflows: functions, variables and types of one domain, such as `book_city_hotel` and
 * `chosen_hotel_id` (FuncBenchGen, section 3.3). The domain and all words are drawn from the seed. The name of a
 * function tells the type of its output, and that of a variable its own type: which value belongs to a parameter
 * is told by types and subtypes alone, as with random names.
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
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
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A thing that a workflow is about. */
interface Thing {
  /** What is done to it and to no other. */
  readonly verbs: readonly string[];
  /** Its kinds. */
  readonly kinds: readonly string[];
  /** What it has details of, and what these are: each of these words goes with each of those. */
  readonly details: readonly [of: readonly string[], what: readonly string[]];
}

/** The things of one domain. No thing is of two. */
type Domain = ReadonlyMap<string, Thing>;

/** Reads a table: in each line a thing with its verbs, its kinds, and both words of its details. */
function domain(table: string): Domain {
  return new Map(
    table.split("\n").map((line) => {
      const [own, kinds, of, what] = line.split(" | ").map(words);
      const [thing, ...verbs] = own!;
      return [thing!, { verbs, kinds: kinds!, details: [of!, what!] }];
    }),
  );
}

/** The domains, all of the same size. */
export const DOMAINS: readonly Domain[] = `
hotel reserve recommend | family city seaside luxury budget | room suite breakfast parking spa | price discount deposit tax surcharge
tour book join | guided city mountain private morning | museum lunch pickup boat castle | time fee delay duration quota
taxi book order | shared city express night private | pickup waiting passenger luggage toll | fee count limit surcharge discount
flight book rebook | evening morning domestic overnight charter | boarding departure arrival landing transfer | time gate delay slot queue
ferry board book | island coastal night express passenger | cabin deck vehicle crossing lounge | fare price quota discount surcharge
train book board | express regional night evening coastal | seat sleeper carriage coach compartment | count price fare row capacity
museum visit suggest | maritime city railway science popular | admission exhibition gallery audioguide entrance | fee hour price queue discount
cruise book plan | river island northern luxury winter | cabin dinner excursion wine spa | price discount budget quota fee
excursion plan join | mountain island weekend boat guided | outward hiking sightseeing boat return | time distance duration fee delay
hostel reserve rate | budget mountain student quiet central | bed dormitory towel locker kitchen | price count deposit fee quota
airport locate suggest | regional nearby northern island busy | terminal parking security lounge luggage | capacity fee queue distance count
beach locate recommend | sandy northern popular quiet island | parking umbrella sunbed boat kayak | fee price count limit deposit

product restock recommend | seasonal organic outdoor imported popular | stock shelf carton retail sample | price size count weight margin
basket fill clear | shared saved weekly family grocery | item delivery shipping packaging checkout | total discount fee cost limit
coupon redeem issue | holiday student seasonal birthday loyalty | discount redemption purchase order voucher | limit amount date rate count
supplier rate contact | wholesale local foreign organic textile | delivery invoice order payment production | date delay volume rate limit
refund issue approve | partial seasonal clothing grocery express | return shipping payment credit restocking | fee amount date delay share
gift wrap send | birthday wedding holiday handmade luxury | wrapping ribbon card box paper | price size cost weight length
wishlist share update | birthday wedding holiday family toy | item visitor reservation comment reminder | count limit total average quota
seller rate contact | private featured vintage local garden | sales return shipping feedback response | rate score count average total
preorder cancel extend | holiday early music toy garden | release delivery deposit payment launch | date amount delay quota deadline
catalogue publish update | spring holiday garden clothing wholesale | page photo print cover edition | count size date cost price
bundle build offer | starter holiday beauty sports budget | item package retail seasonal wholesale | price discount count weight margin
brand promote compare | sports organic luxury local beauty | market sales campaign advertising loyalty | share budget rank score rate

patient admit discharge | cardiac elderly surgical chronic private | heart blood pulse oxygen glucose | level average minimum maximum trend
doctor assign page | senior visiting cardiac night general | patient surgery visit duty consultation | count hour fee quota duration
ward prepare open | maternity surgical children isolation cardiac | bed nurse visitor patient cleaning | count capacity ratio quota limit
surgery schedule postpone | heart eye emergency outpatient dental | anaesthesia recovery preparation operating theatre | time duration cost delay hour
nurse assign page | night senior visiting surgical paediatric | duty overtime patient bedside ward | hour count limit ratio rotation
medicine prescribe dispense | heart asthma herbal liquid generic | morning evening adult child maximum | dose interval dosage strength quantity
vaccine order administer | seasonal travel childhood booster trial | dose batch storage booster vial | count size interval temperature date
biopsy request evaluate | skin liver urgent routine bone | sample tissue needle cell marker | count depth size density score
diagnosis record revise | early chronic cardiac dental urgent | severity confidence symptom recovery risk | score level rank estimate trend
referral send approve | urgent specialist dental cardiac routine | waiting approval visit consultation response | time date deadline delay limit
appointment book cancel | dental routine urgent evening eye | arrival checkup consultation waiting reminder | time duration delay date hour
ambulance dispatch call | emergency night rural mobile private | arrival response travel dispatch handover | time distance delay average estimate

parcel send track | fragile express oversized registered chilled | shipping insurance customs handling storage | fee weight charge cost discount
pallet load move | wooden heavy chilled export mixed | stack load carton shelf layer | height weight count width limit
truck dispatch refuel | heavy chilled overnight regional electric | fuel cargo axle tank tyre | weight level capacity limit pressure
depot open inspect | regional northern harbour rail central | storage loading parking parcel sorting | capacity area hour fee volume
container seal unload | export chilled bulk coastal empty | cargo freight stowage load door | weight height width volume limit
driver assign brief | overnight regional senior relief local | driving rest duty overtime delivery | hour limit count average quota
route plan shorten | coastal overnight northern rural express | toll border stop detour delivery | cost count distance time delay
shipment split track | overnight fragile import bulk insured | customs delivery loading insurance handling | fee date delay charge deadline
courier assign call | bicycle express local night overseas | delivery pickup waiting parcel mileage | rate count time fee limit
dock assign clear | northern harbour chilled loading export | crane berth mooring loading pier | length time slot fee capacity
warehouse inspect restock | chilled regional bulk rented central | shelf aisle pallet storage floor | count area height capacity load
forklift repair assign | electric heavy rented spare compact | mast fork cargo platform cabin | height width length weight limit

employee hire promote | remote junior senior temporary regional | vacation overtime sick training travel | day balance allowance hour quota
candidate interview shortlist | senior graduate finance overseas internal | interview aptitude language reference skills | score date grade rank average
payroll run approve | monthly weekly regional overseas factory | tax overtime pension insurance bonus | total amount rate share adjustment
vacation approve request | summer winter unpaid family extended | departure return carryover holiday leave | date day balance limit quota
contract sign renew | temporary permanent remote consulting seasonal | notice probation salary renewal working | period date term length clause
manager assign alert | regional sales engineering factory interim | team budget approval project salary | size limit count level total
timesheet submit approve | weekly monthly project overtime field | working overtime travel project break | hour total limit average minute
training schedule offer | safety sales legal technical language | course participant trainer exam certificate | fee count date score duration
vacancy publish close | senior engineering remote seasonal finance | application interview salary hiring posting | deadline count date budget limit
bonus grant compute | annual sales retention holiday project | performance profit sales retention team | share score amount rate threshold
shift swap plan | night weekend morning factory holiday | break overtime standby handover rest | time hour length limit duration
intern welcome assign | summer marketing legal graduate technical | mentor project university training travel | hour week budget duration count

account open freeze | savings business joint student foreign | overdraft withdrawal interest deposit transfer | limit rate fee total balance
loan approve refinance | business student personal car agricultural | interest repayment insurance arrangement collateral | rate amount term fee share
mortgage approve compute | fixed rural joint commercial residential | interest repayment property equity valuation | rate amount term share fee
cheque cash stop | business foreign travel personal certified | clearing deposit handling issue settlement | date amount fee delay limit
remittance send schedule | foreign family monthly express business | transfer exchange settlement handling recipient | fee rate date amount limit
customer advise alert | business private retail student overseas | credit risk loyalty income savings | score level rank limit share
statement print send | monthly annual pension savings business | opening closing interest fee deposit | balance date total amount average
fund rebalance close | pension equity bond index regional | share bond unit entry exit | price fee yield ratio total
payee add block | foreign business regular trusted household | transfer payment daily monthly standing | limit amount date count total
branch locate rate | rural regional downtown university mobile | opening counter vault queue staff | hour count length time capacity
adviser assign contact | wealth pension senior regional tax | meeting consultation response callback travel | count fee time date duration
creditcard block issue | business student travel premium prepaid | credit purchase cash interest annual | limit fee rate charge total

applicant admit advise | graduate foreign physics law exchange | entrance language interview essay school | score grade rank date average
lecture schedule record | physics history evening introductory visiting | seating attendance audience question livestream | time count capacity limit average
seminar schedule offer | graduate history law summer practical | reading session discussion attendance assignment | count length limit hour week
thesis submit grade | physics biology history graduate honours | chapter page submission citation defence | count date limit deadline length
professor invite assign | visiting chemistry music emeritus law | teaching office publication research supervision | hour count budget load quota
scholarship grant extend | sports research foreign merit music | tuition housing stipend travel renewal | amount share date limit month
exam grade schedule | final chemistry oral practical retake | passing question writing bonus registration | score count time limit deadline
dormitory assign inspect | graduate downtown foreign summer quiet | bed room floor laundry kitchen | count fee area capacity deposit
diploma print award | honours graduate science law medical | graduation issue printing delivery ceremony | date year fee cost deadline
laboratory reserve equip | chemistry physics biology medical research | bench safety equipment gas sample | count capacity budget level pressure
textbook order lend | introductory biology chemistry law history | chapter page figure exercise appendix | count length limit average total
semester plan close | summer winter exchange practical final | registration exam tuition lecture holiday | date week deadline fee period

policy renew cancel | car home travel health pet | premium coverage deductible renewal liability | amount limit date rate term
claim submit settle | car flood fire theft dental | settlement repair deductible filing assessment | amount date deadline cost limit
tariff compute adjust | motorcycle household farm marine business | base risk age mileage region | rate factor surcharge discount limit
insurer contact rate | health marine pet regional commercial | solvency payout complaint premium market | ratio share score total rank
accident report assess | car bicycle boat farm motorcycle | collision repair injury towing rescue | cost date score estimate delay
broker assign contact | marine commercial health regional pet | commission contract client meeting renewal | rate count fee date share
quote request compare | travel home car dental boat | premium deductible coverage discount offer | amount limit rate date period
payout approve release | flood fire theft health travel | settlement transfer pension partial instalment | amount date limit fee share
damage assess photograph | flood fire storm water roof | roof wall floor window ceiling | cost area depth height estimate
beneficiary add alert | family business primary minor foreign | payment inheritance pension trust transfer | share amount date limit tax
inspector assign send | fire marine car farm property | visit travel inspection report appraisal | fee date hour deadline duration
witness interview contact | car fire theft flood expert | statement interview hearing response callback | date time length delay deadline

concert announce postpone | jazz outdoor charity rooftop summer | opening encore rehearsal interval soundcheck | time length start delay duration
venue reserve inspect | outdoor downtown rooftop theatre festival | stage seating hall parking lobby | capacity rent area height fee
ticket sell scan | festival student family weekend jazz | seat booking resale entry group | price fee discount limit quota
speaker invite introduce | keynote visiting student expert evening | talk travel question preparation discussion | time budget limit duration length
caterer hire brief | vegan wedding festival local business | meal dessert drink staff delivery | price count cost time total
sponsor thank contact | local corporate sports festival annual | donation pledge prize contract advertising | amount date share limit deadline
exhibitor invite assign | foreign student local technology craft | booth banner display stand table | size count fee width height
guest invite seat | wedding foreign business festival evening | arrival dinner seating parking departure | time date fee slot period
band book pay | jazz dance wedding student rock | rehearsal performance travel soundcheck encore | time fee date budget duration
stage build light | outdoor main rooftop festival theatre | floor curtain ramp lighting platform | height width area load cost
workshop announce host | dance press weekend craft student | participant material session registration equipment | fee count limit budget average
conference open host | annual science business press summer | registration hotel session dinner speaker | fee count date budget deadline

apartment rent inspect | furnished downtown studio attic lakeside | bedroom balcony kitchen ceiling storage | area height width count size
tenant screen alert | student family former commercial elderly | rent deposit income credit utility | amount score balance limit share
landlord contact pay | private downtown rural commercial former | rent deposit repair notice maintenance | date amount budget period term
lease sign renew | student furnished shared commercial annual | rent notice renewal deposit termination | date period term fee amount
viewing arrange cancel | evening weekend virtual group private | arrival waiting visit inspection reservation | time limit delay duration date
house appraise sell | suburban lakeside renovated historic rural | garden roof cellar attic terrace | area age height size cost
plumber call pay | local emergency weekend heating licensed | visit repair travel hourly callout | fee rate cost time charge
garage rent clean | shared underground heated double rural | door ceiling entrance parking floor | width height area length clearance
mover hire pay | local overseas weekend student express | packing loading travel storage piano | fee cost time weight hour
cottage rent advertise | lakeside holiday mountain seaside family | weekend summer cleaning heating guest | price fee deposit count tax
boiler repair replace | gas electric shared spare basement | water steam heating tank inlet | pressure temperature volume level limit
neighbour alert invite | upstairs elderly friendly downstairs new | fence hedge tree wall shed | height width distance age count

incident escalate resolve | critical regional office security production | response outage escalation recovery repair | time duration deadline priority delay
server restart patch | staging production virtual spare regional | memory disk processor cache bandwidth | size load limit speed usage
laptop replace repair | remote shared spare sales finance | battery disk screen keyboard charger | price age lifetime cost stock
licence assign renew | office regional trial shared student | renewal seat user support subscription | date fee count limit price
printer repair install | office shared wireless colour spare | toner paper page drum ink | level count cost capacity yield
password reset revoke | temporary shared remote expired office | expiry reset retry lockout minimum | date limit period length count
backup restore run | nightly cloud weekly regional encrypted | storage retention archive snapshot copy | size period count age limit
network scan repair | office wireless public staging internal | bandwidth packet latency uplink download | limit average peak rate loss
database migrate restore | staging production finance legacy test | storage query connection index replica | size count limit load growth
technician assign call | remote regional senior mobile night | travel visit callout response overtime | time fee hour count rate
mailbox create archive | shared finance sales legal office | storage attachment message archive retention | size limit quota count age
website deploy monitor | public staging internal mobile legacy | page visitor session request download | count time size rate limit

table reserve clear | window garden rooftop family corner | seat chair bench cushion candle | count price limit minimum size
menu print plan | lunch seasonal vegan tasting children | starter main dessert wine soup | price count order calories discount
dish cook serve | vegan grilled spicy seasonal signature | sauce portion garnish spice ingredient | weight cost temperature amount share
waiter assign call | weekend evening senior terrace junior | tip sales overtime table guest | total average count limit rate
chef assign praise | pastry head visiting seafood night | kitchen menu cooking overtime staff | budget hour rating count limit
recipe adapt share | italian vegan family spicy festive | flour sugar butter milk spice | weight temperature amount ratio cost
buffet prepare close | breakfast vegan wedding seafood weekend | salad soup fruit bread cheese | count price cost total temperature
dessert serve recommend | chocolate festive fruit frozen signature | sugar cream fruit chocolate syrup | weight amount share temperature cost
cocktail mix serve | signature tropical frozen summer classic | spirit juice ice syrup soda | volume price share cost strength
banquet plan cater | wedding festive business charity family | guest course table wine seating | count price budget total order
kitchen clean inspect | main open pastry rooftop shared | oven freezer stove storage sink | temperature capacity size age count
takeaway pack deliver | family vegan lunch spicy weekend | delivery packaging pickup preparation driver | time fee cost limit delay
`.trim().split("\n\n").map(domain);

/** What is done to things of all kinds. */
export const VERBS = words("find check confirm select fetch review show update register match");

/** The words before half of all details: they fit amounts, dates and measures. */
export const STATES = words(
  "actual estimated expected previous current next usual original latest recent initial final reported recorded",
);

/** The first words of variables. */
export const FIRST_WORDS = words(
  "given chosen current known latest first requested actual related planned matching original listed default " +
    "relevant recorded expected wanted selected preferred confirmed new previous next last open active main primary " +
    "secondary alternate local linked existing pending assigned approved registered updated verified saved suggested " +
    "proposed received found queried provided supplied reported checked reviewed tracked second other similar usual " +
    "recent upcoming earlier later temporary regular standard shared valid accepted available agreed required desired " +
    "intended affected favoured stored offered loaded observed revised posted issued filed sorted filtered ranked " +
    "cached copied imported merged scanned signed tested traced visited picked created changed added edited mapped " +
    "paired grouped combined inspected mentioned identified detected discovered measured nominated favourite top " +
    "early late old final extra spare exact likely possible suitable important urgent critical ongoing scheduled",
);

/** The last words of variables: whole numbers can be any of these. A task has one for each thing. */
export const NUMBERS = words("id number code reference");

/**
 * How much longer than types other names are drawn in vain before they have a word more, which tells those drawn
 * late apart: distractors, since the core is the same whatever others there are.
 */
const PATIENCE = 4;

/** Draws names of one workflow. */
export class WorkflowNames extends WordNames {
  #domain: Domain | undefined;
  /** The last words of the variables of each thing. */
  readonly #numbers = new Map<string, string>();

  /** The workflow is that of which `taken` names things; where it names none, its domain is drawn. */
  constructor(taken: Iterable<string> = []) {
    const names = [...taken];
    super(names);
    for (const name of names) {
      const [last = "", thing = ""] = wordsOfName(name).reverse();
      if (NUMBERS.includes(last)) this.#numbers.set(thing, last);
      else this.#domain ??= DOMAINS.find((things) => things.has(last));
    }
  }

  /** A new type, such as `hotel`. */
  override type(stream: Stream): string {
    const things = this.#domain ??= sample(DOMAINS, stream)!;
    return this.draw((further) => {
      const thing = sample([...things.keys()], stream)!;
      return [...this.#kind(thing, further, stream), thing].join(" ");
    });
  }

  /** A new subtype that a type has, such as `breakfast price`. */
  override subtype(stream: Stream, type: string): string {
    const { details } = this.#domain!.get(this.#thingIn(type))!;
    const states = randomIntegerBetween(0, 1, stream);
    return this.#drawn((further) => {
      const before = drawn(STATES, states + further, stream).sort();
      return [...before, ...details.map((list) => sample(list, stream)!)].join(" ");
    });
  }

  /** A new name for a variable of a type, such as `chosen_hotel_id`. */
  override variable(stream: Stream, type: string, _ofType: boolean, style: NameStyle): string {
    const thing = this.#thingIn(type);
    const number = () => style.id ? "id" : sample(NUMBERS, stream)!;
    const last = getOrInsertComputed(this.#numbers, thing, number);
    return this.#drawn((further) =>
      joined([...drawn(FIRST_WORDS, 1 + further, stream), thing, last], style.camelCase)
    );
  }

  /** A new name for a parameter: of the type of its variable, and apart from that drawn like any other. */
  override parameter(stream: Stream, variable: string): string {
    return this.variable(stream, this.#thingIn(variable), true, { id: false, camelCase: false });
  }

  /** A new name for a function that produces a variable of a type, such as `book_city_hotel`. */
  override function(stream: Stream, variable: string): string {
    const thing = this.#thingIn(variable);
    const verbs = [...this.#domain!.get(thing)!.verbs, ...VERBS];
    return this.#drawn((further) =>
      [sample(verbs, stream)!, ...this.#kind(thing, 1 + further, stream), thing].join("_")
    );
  }

  /** A kind of a thing, after further words or none. */
  #kind(thing: string, count: number, stream: Stream): string[] {
    const kinds = drawn(this.#domain!.get(thing)!.kinds, Math.min(1, count), stream);
    return [...drawn(FIRST_WORDS, count - 1, stream), ...kinds];
  }

  #drawn(name: (further: number) => string): string {
    return this.draw((further) => name(Math.floor(further / PATIENCE)));
  }

  #thingIn(name: string): string {
    return wordsOfName(name).findLast((word) => this.#domain!.has(word))!;
  }
}

/** What a function of a workflow does, as its description begins: `Books the city hotel`. */
export function deedOf(name: string): string {
  const [verb = "", ...rest] = wordsOfName(name);
  return `${capital(verb)}${/(?:[sx]|[cs]h)$/.test(verb) ? "es" : "s"} the ${rest.join(" ")}`;
}
