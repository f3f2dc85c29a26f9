/** One word of a command that fills one parameter of a path. */
export interface Key {
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
 * What fills a field of a query or a body: an option or a word at the command line, a line of a form. It is called as the
 * field, unless `flag` says another name.
 */
export interface Flag {
  flag?: string;
  /** What stands for what is typed, as in `--limit <n>`; true or false has none. */
  value?: string;
  /** For a reader of either; that it may be repeated, or is true or false, is added to it. */
  says: string;
  /** At the command line a word of its own, behind those of the path. */
  isWord?: true;
  /** Several, at the command line as words behind each other. */
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
  /** What `--no-<flag>` says, which makes it false. */
  no?: string;
  isJson?: true;
  /** It may also be a condition in words: `properties.plan = pro and unsubscribed = false`. */
  isWhere?: true;
  syntax?: Syntax;
  isRequired?: true;
  /** What it is where nothing is typed. */
  preset?: number | string;
  /** What it asks for takes the server long: a list that is read again and again goes without it. */
  isCostly?: true;
  /** Not to be seen while it is typed. */
  isSecret?: true;
  /** What it may be, where that is known here. */
  choices?: readonly string[];
  /** A form takes away what is set when it is emptied. */
  isClearable?: true;
  /** So does an empty text at the command line. */
  isEmptied?: true;
  /** So does `--clear-<flag>`; with a value it takes away what it names of several. */
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

/** The option of a field, without its dashes. */
export const optionOf = (field: string, { flag }: Pick<Flag, 'flag'>): string => flag ?? field.replaceAll('_', '-');
