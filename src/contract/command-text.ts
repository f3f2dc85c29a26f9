/** One word of a command that fills one parameter of a path. */
export interface CommandKey {
  word: string;
  says: string;
  /** The command line accepts several of them. */
  isVariadic?: true;
  /** Optional at the command line. */
  isOptional?: true;
}

/** The text syntax of a field for which the API takes something else (`cli/input/syntaxes.ts`). */
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
  | 'utm'
  | 'variable'
  | 'variable declaration';

/**
 * Fills a field of a query or a body: an option or a word at the command line, a line of a form. It has the name of the
 * field, unless `flag` names another.
 */
export interface CommandFlag {
  flag?: string;
  /** Placeholder for the value, as in `--limit <n>`; a boolean has none. */
  value?: string;
  /** Help for both command line and console; whether it may be repeated or is a boolean is added to it. */
  says: string;
  /** Positional at the command line, after the words of the path. */
  isWord?: true;
  /** A list; at the command line several words. */
  isVariadic?: true;
  /** A list; at the command line the option is repeated. */
  isRepeatable?: true;
  /** A list, separated by commas. */
  isList?: true;
  /** The value may also come from a file, with `--<flag>-file`; this text describes the file's content. */
  fromFile?: string;
  /** The name of a local file; at the command line, `-` may mean standard input. */
  isFile?: true;
  orStdin?: true;
  /** The field is in the query, not in the body. */
  isQuery?: true;
  isNumber?: true;
  /** A boolean; at the command line an option without a value. */
  isBoolean?: true;
  /** Help of `--no-<flag>`, which makes it false. */
  no?: string;
  isJson?: true;
  /** The value may also be a condition in words: `properties.plan = pro and unsubscribed = false`. */
  isWhere?: true;
  syntax?: Syntax;
  isRequired?: true;
  /** The default if nothing is typed. */
  preset?: number | string;
  /** Expensive for the server: a list that is refreshed repeatedly omits it. */
  isCostly?: true;
  /** Hidden while it is typed. */
  isSecret?: true;
  /** The permitted values. */
  choices?: readonly string[];
  /** Emptying the field in a form removes the stored value. */
  isClearable?: true;
  /** An empty text at the command line removes the stored value. */
  isEmptied?: true;
  /** `--clear-<flag>` removes the stored value; with a value, it removes one of several. */
  clear?: { value?: string; says: string };
  /** The field that contains this one is replaced as a whole. */
  isPart?: true;
  /** The value may have several lines. */
  hasLines?: true;
  /** A form shows it only on request for more fields. */
  isMore?: true;
  /** Only one of the two asks for it; the other has a way of its own. */
  place?: 'line' | 'form';
  /**
   * One of the fields with this mark is enough: a form that begins with one shows the others on request for more
   * fields.
   */
  isOneOf?: true;
  /** Not required if one of these is set. */
  orElse?: readonly string[];
}

/** How the values of a field can be shown: any other than a time and a number is a text. */
export type ValueType = 'time' | 'number' | 'text';

/** The contract's description of a command, from which the command line and the console are built. */
export interface CommandText {
  /** The words after `rasket`, without those for path and fields: `topics create`. */
  command: string;
  /** Its key in the console; a list and an item have none. */
  key?: string;
  /** One imperative line. */
  summary: string;
  /** The text of its help page, if it has more than the summary. */
  description?: string;
  /** The words after `rasket` of a complete example call. */
  example: string;
  path: Readonly<Record<string, CommandKey>>;
  flags: Readonly<Record<string, CommandFlag>>;
  /** Fields that `--clear` sets to null. */
  clears?: readonly string[];
  /** Continues "This will …" before it is done, if it cannot be undone. */
  destroys?: string;
  /** Fields of the body that the command always sets. */
  sets?: Readonly<Record<string, unknown>>;
  /** The past participle shown when it is done. */
  done?: string;
  /** Further commands that make the same call with fewer fields. */
  also?: readonly CommandText[];
  /** Shown for an empty list. */
  empty?: string;
  /** The fields of the response, or of each item of a list, with what their schemas say of the values. */
  fields: Readonly<Record<string, ValueType>>;
  /** The part of the contract that it belongs to. */
  tag: string;
  /** The operation that reads the item that this one changes or removes. */
  current?: string;
  removed?: string;
}

/**
 * `x-cli` of an operation: the properties of its command that do not follow from the contract, or the reason why it has
 * none.
 */
export type CommandSource = { none: string } | CommandOverride;

export type CommandOverride = { command: string } & Partial<
  Pick<CommandText, 'key' | 'summary' | 'description' | 'example' | 'destroys' | 'sets' | 'done'>
> & {
    path?: Readonly<Record<string, KeySource>>;
    /** Keyed by field; a string is the reason why the command does not set it. */
    flags?: Readonly<Record<string, FlagSource>>;
    /** Fields that are positional words at the command line, after those of the path. */
    words?: readonly string[];
    /** Fields that a form shows on request. */
    more?: readonly string[];
    /** The fields that come first, if a form needs another order than the schema. */
    order?: readonly string[];
    /** Further commands of the operation, each with its own words and preset fields. */
    also?: readonly CommandOverride[];
  };

/** `x-cli` of a path parameter; its example is a name if people would type one. */
export type KeySource = Partial<CommandKey> & { example?: string };

/**
 * `x-cli` of a property or a parameter: the properties of its flag that do not follow from its schema. A string is the
 * reason why no flag sets it.
 */
export type FlagSource = string | { [Name in keyof CommandFlag]?: CommandFlag[Name] | false };

/** Every command, by the id of its operation. */
export type Commands = Readonly<Record<string, CommandText>>;
