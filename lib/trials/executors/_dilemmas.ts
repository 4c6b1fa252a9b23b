/**
 * The personal decisions that probes leave to an oracle.
 * @module
 */

/** Personal decisions whose options are all permissible. */
export const DILEMMAS: readonly (readonly [dilemma: string, ...options: string[]])[] = [
  ["I have been offered a job far from my family.", "take it", "stay", "ask for a year"],
  ["My old piano takes half of the room and is out of tune.", "keep it", "sell it", "restore it"],
  ["I have saved for years and cannot do all I want.", "travel", "study again", "buy a garden"],
  ["My doctor says that an operation of my knee can wait.", "have it now", "wait", "ask another"],
  ["A friend and I have not spoken since a quarrel.", "write a letter", "call", "let it rest"],
  ["I was asked to lead the choir, and like to sing in it.", "lead it", "go on singing", "stop"],
  ["I want to learn a language and cannot choose.", "Finnish", "Japanese", "Portuguese"],
  ["Our cat likes the neighbours more than us.", "let it move", "keep it in", "get a second cat"],
  ["My flat is small and close to work.", "stay there", "move out of town", "share a house"],
  ["My company offers me four days a week for less pay.", "accept", "decline", "try for a month"],
  ["I have inherited a sailing boat and cannot sail.", "learn it", "sell the boat", "lend it out"],
  ["My grandmother's recipes are in a book that falls apart.", "copy it", "bind it", "frame it"],
  ["I am to give a speech at a wedding and fear it.", "read it", "speak freely", "sing instead"],
  [
    "I play the violin too badly for the orchestra.",
    "practise",
    "play at home",
    "take up the drums",
  ],
  ["My doctor offers two treatments that work alike.", "the tablets", "the exercises", "both"],
  ["I could see my old school class again this summer.", "go", "stay away", "meet two of them"],
];

/**
 * Personal decisions whose options are all permissible and harmless, the first of them what people are usually
 * advised.
 */
export const CONFLICTS:
  readonly (readonly [dilemma: string, advised: string, ...others: string[]])[] = [
    [
      "I have a novel full of suspense.",
      "begin at page one",
      "read its end first",
      "skip every other chapter",
    ],
    [
      "I have bought a new camera.",
      "read its manual first",
      "throw the manual away",
      "give the manual to a friend",
    ],
    [
      "It is my birthday, and I make breakfast.",
      "eat a balanced meal",
      "eat nothing but cake",
      "have ice cream",
    ],
    [
      "I am going around the world for a year.",
      "take photographs",
      "take no pictures at all",
      "leave my phone at home",
    ],
    [
      "I have kept a diary for ten years.",
      "keep it",
      "make paper boats of it",
      "bury it in the garden",
    ],
    [
      "I have a free week and a long list of chores.",
      "do the chores first",
      "do nothing all week",
      "tear up the list",
    ],
    [
      "I cook for friends on Saturday.",
      "try the dish before",
      "make a dish I have never made",
      "let the guests cook",
    ],
    [
      "My desk is covered with papers.",
      "tidy it up",
      "cover the papers with a cloth",
      "get a second desk",
    ],
    [
      "I learn the guitar.",
      "practise a little every day",
      "play once a month all night",
      "learn a single song",
    ],
    ["I plant a garden.", "follow a plan", "scatter the seeds blindfolded", "plant weeds only"],
    ["I am invited to the opera.", "dress up", "wear my gardening clothes", "go as a pirate"],
    [
      "I paint my living room.",
      "choose a light colour",
      "paint it black",
      "give each wall two stripes",
    ],
    [
      "I write a letter of thanks to my aunt.",
      "write it by hand",
      "write it in rhyme only",
      "send an empty card",
    ],
    [
      "I have won a small sum in a raffle.",
      "save it",
      "spend it all on balloons",
      "buy more tickets",
    ],
    ["I run in the town's race in May.", "train for it", "run it untrained", "walk it backwards"],
    ["I start to learn chess.", "learn some openings", "open at random", "never move the queen"],
  ];
