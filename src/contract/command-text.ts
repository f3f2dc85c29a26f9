/** One word of a command that fills one parameter of a path. */
export interface CommandKey {
  word: string;
  says: string;
  /** At the command line several may be named. */
  isVariadic?: true;
  /** At the command line it may be left out. */
  isOptional?: true;
}

/** How the text of a field is written, where the API takes something else (`cli/input/syntaxes.ts`). */
export type Syntax =
  | 'attachment'
  | 'column'
  | 'event type'
  | 'event types'
  | 'header'
  | 'property'
  | 'property column'
  | 'tag'
  | 'time ahead'
  | 'topic'
  | 'variable'
  | 'variable declaration';

/**
 * Fills a field of a query or a body: an option or a word at the command line, a line of a form. Its name is that of the
 * field, unless `flag` says another one.
 */
export interface CommandFlag {
  flag?: string;
  /** Stands for the typed text, as in `--limit <n>`; true or false has none. */
  value?: string;
  /** Help for readers of both; that it may be repeated, or is true or false, is added to it. */
  says: string;
  /** At the command line a word of its own, after those of the path. */
  isWord?: true;
  /** Several, at the command line as words after each other. */
  isVariadic?: true;
  /** Several, at the command line as an option each. */
  isRepeatable?: true;
  /** Several, with commas between them. */
  isList?: true;
  /** Its contents may also come from a file, with `--<flag>-file`: what the file holds. */
  fromFile?: string;
  /** It is the name of a file on this machine; at the command line `-` may be standard input. */
  isFile?: true;
  orStdin?: true;
  /** It stands in the query, and not in the body. */
  isQuery?: true;
  isNumber?: true;
  /** true or false, at the command line an option without a value. */
  isBoolean?: true;
  /** Help of `--no-<flag>`, which makes it false. */
  no?: string;
  isJson?: true;
  /** It may also be a condition in words: `properties.plan = pro and unsubscribed = false`. */
  isWhere?: true;
  syntax?: Syntax;
  isRequired?: true;
  /** Its value if nothing is typed. */
  preset?: number | string;
  /** The server takes long for it: a list that is read again and again goes without it. */
  isCostly?: true;
  /** Not to be seen while it is typed. */
  isSecret?: true;
  /** The values that it may have. */
  choices?: readonly string[];
  /** A form takes away what is set when it is emptied. */
  isClearable?: true;
  /** So does an empty text at the command line. */
  isEmptied?: true;
  /** So does `--clear-<flag>`; with a value it takes away one of several. */
  clear?: { value?: string; says: string };
  /** The field that it is inside of is replaced as a whole. */
  isPart?: true;
  /** It may have several lines. */
  hasLines?: true;
  /** A form shows it when more fields are asked for. */
  isMore?: true;
  /** It is asked for in one of the two alone: the other has a way of its own. */
  place?: 'line' | 'form';
  /** One of those marked so is enough: a form that begins with one shows the others when more fields are asked for. */
  isOneOf?: true;
  /** Where one of these is filled, it need not be. */
  orElse?: readonly string[];
}

/** What the command line and the console know of an operation without being told by hand. */
export interface CommandText {
  /** The words after `rasket`, without those for path and fields: `topics create`. */
  command: string;
  /** Its key in the console; a list and an item have none. */
  key?: string;
  /** One imperative line. */
  summary: string;
  /** The text of its page of help, where the summary is not all of it. */
  description?: string;
  /** The words after `rasket` of one call that works as it stands. */
  example: string;
  path: Readonly<Record<string, CommandKey>>;
  flags: Readonly<Record<string, CommandFlag>>;
  /** Fields that `--clear` sets to null. */
  clears?: readonly string[];
  /** Continues "This will …" before it is done, if it cannot be undone. */
  destroys?: string;
  /** Fields of the body that the command always sets. */
  sets?: Readonly<Record<string, unknown>>;
  /** Said in a word when it is done. */
  done?: string;
  /** Further commands that make the same call with fewer fields. */
  also?: readonly CommandText[];
  /** The text where a list has nothing. */
  empty?: string;
  /** The fields of the answer, or of each item of a list. */
  fields: readonly string[];
  /** The part of the contract that it belongs to. */
  tag: string;
  /** The operation that reads the item which this one changes, or removes. */
  current?: string;
  removed?: string;
}

/** `x-cli` of an operation: what its command has that nothing else in the contract says, or the reason why it has none. */
export type CommandSource = { none: string } | CommandOverride;

export type CommandOverride = { command: string } & Partial<
  Pick<CommandText, 'key' | 'summary' | 'description' | 'example' | 'clears' | 'destroys' | 'sets' | 'done'>
> & {
    path?: Readonly<Record<string, KeySource>>;
    /** By the field; a string is the reason why the command does not set it. */
    flags?: Readonly<Record<string, FlagSource>>;
    /** Fields that are words of their own at the command line, after those of the path. */
    words?: readonly string[];
    /** Fields that a form shows when more are asked for. */
    more?: readonly string[];
    /** The fields that come first, where the order of the schema is not that of a form. */
    order?: readonly string[];
    /** Further commands of the operation, each of which takes its words and sets the rest. */
    also?: readonly CommandOverride[];
  };

/** `x-cli` of a parameter of a path; its example is a name where people would type one. */
export type KeySource = Partial<CommandKey> & { example?: string };

/** `x-cli` of a property or a parameter: what of its flag does not follow from its schema. A string: why no flag sets it. */
export type FlagSource = string | { [Name in keyof CommandFlag]?: CommandFlag[Name] | false };

/** Every command, by the id of its operation. */
export type Commands = Readonly<Record<string, CommandText>>;
