import { OpenElements, RAW } from './open-elements.ts';

/**
 * The kind of token that `HtmlTokenizer.next` has read. `unfinished` is a tag or a declaration that the text ends in: a
 * browser drops it. `declaration` is everything that a browser drops up to the next `>`: doctypes, `<?xml ?>`,
 * `<![if]>`, `</ x>`. `paused` says that the limit was reached in the middle of something, or at the end of the text so
 * far.
 */
export type TokenKind =
  | 'text'
  | 'start tag'
  | 'end tag'
  | 'comment'
  | 'declaration'
  | 'cdata'
  | 'unfinished'
  | 'paused'
  | 'end';

/** Position of the value of an attribute: without its quotes, and undecoded. */
export interface ValuePlace {
  start: number;
  end: number;
}

/** The states of HTML §13.2.5, as far as they have to be told apart. */
const State = {
  data: 0,
  tagOpen: 1,
  endTagOpen: 2,
  tagName: 3,
  beforeAttribute: 4,
  attributeName: 5,
  afterAttributeName: 6,
  beforeValue: 7,
  doubleQuoted: 8,
  singleQuoted: 9,
  unquoted: 10,
  declarationOpen: 11,
  declarationDash: 12,
  cdataOpen: 13,
  declaration: 14,
  comment: 15,
  cdata: 16,
  raw: 17,
  rawTagOpen: 18,
  rawEndTagOpen: 19,
  rawEndTagName: 20,
  scriptBang: 21,
  scriptBangDash: 22,
  scriptTagName: 23,
  plaintext: 24,
} as const;
type State = (typeof State)[keyof typeof State];

/** The role that a browser would give the next character. */
export type Region =
  | 'text'
  | 'comment'
  | 'value'
  /** A value may begin here; a character other than a quote begins one without quotes. */
  | 'before value'
  /** In a name, in a declaration, in a CDATA section, or at a character that decides whether a tag begins. */
  | 'markup';

const TAB = 9;
const LINE_FEED = 10;
const FORM_FEED = 12;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const BANG = 33;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const DASH = 45;
const SLASH = 47;
const OPEN = 60;
const EQUALS = 61;
const CLOSE = 62;
const QUESTION_MARK = 63;
const BRACKET = 91;
const CLOSE_BRACKET = 93;
const LOWER_CASE_BIT = 0x20;

const isSpace = (code: number): boolean =>
  code === SPACE || code === LINE_FEED || code === TAB || code === CARRIAGE_RETURN || code === FORM_FEED;
const isLetter = (code: number): boolean => (code | LOWER_CASE_BIT) >= 97 && (code | LOWER_CASE_BIT) <= 122;
const isNameEnd = (code: number): boolean => code === CLOSE || code === SLASH || isSpace(code);

/** Returns a name in lower case. Only ASCII letters have another case in HTML: `K`, the sign for Kelvin, is no `k`. */
const lowerName = (name: string): string =>
  /[^\0-\x7f]/.test(name) ? name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()) : name.toLowerCase();

const CDATA = '[CDATA[';
const CDATA_END_CHARS = ']]>'.length;

/** Four numbers for each attribute: where its name and its value begin and end. */
const NUMBERS_PER_ATTRIBUTE = 4;

const NUMBERS_PER_EVENT = 4;
const Event = { text: 0, startTag: 1, endTag: 2 } as const;
/** Elements in which a text may be read in another way, or after which a tag may be dropped. */
const FOLLOWED = new Set(['svg', 'math', 'template']);

/** A tag before the first element of SVG or MathML, of which only the name and the attributes as written matter. */
class PastTag {
  readonly name: string;
  readonly attributeText: string;
  readonly isSelfClosing = false;

  constructor(name: string, attributeText: string) {
    this.name = name;
    this.attributeText = attributeText;
  }

  findAttribute(): undefined {
    return undefined;
  }

  readAttribute(): string {
    return '';
  }
}

/**
 * Reads HTML as the tokenizer of a browser does (HTML §13.2.5), with the position of everything in the source. It is the
 * only reader of HTML here: what one use takes for text, no other takes for a comment.
 *
 * Every character is read once, however broken the text is. Nothing is decoded or copied but the names that are asked for.
 *
 * A browser's tree decides where SVG and MathML end, in which a text is read in another way. `OpenElements` follows it.
 */
export class HtmlTokenizer {
  readonly html: string;
  /** The position up to which the text is read. */
  at = 0;
  /** The last token extends from `start` to `end`. */
  start = 0;
  end = 0;
  /** The element, such as a style or a title, whose text content the last text is in; empty elsewhere. */
  textElement = '';
  /** Whether a `/` comes right before the `>` of the tag. */
  isSelfClosing = false;
  /** Whether the last start tag begins an element of SVG or MathML. */
  isForeign = false;
  /** Number of attributes of the last tag, including repeated names. */
  attributeCount = 0;
  /** Number of characters that were read: never more than the length of the text times a small number. */
  charsRead = 0;

  #state: State = State.data;
  /** Start of the text that is not reported yet, and of the markup that may follow it. */
  #textStart = 0;
  #markStart = 0;
  #isEndTag = false;
  /** Whether the tag ends an element with text content. */
  #isRawEnd = false;
  #nameStart = 0;
  #nameEnd = 0;
  #name: string | undefined;
  /** Whether the name has only small letters, so that it is in lower case as written. */
  #isNamePlain = true;
  /** Start of the content of a comment or CDATA section. */
  #contentStart = 0;
  #isCdata = false;
  #openStart = -1;
  #openName = '';
  #attributes = new Int32Array(8 * NUMBERS_PER_ATTRIBUTE);
  /** The element whose content is read as text. */
  #raw = '';
  #rawStart = 0;
  /** Depth in a script: 1 after `<!--`, 2 in a script inside it. */
  #scriptDepth: 0 | 1 | 2 = 0;
  #dashes = 0;
  /** Follows the open elements; undefined until there is one in which something is read in another way. */
  #open: OpenElements | undefined;
  /** The tokens before that: four numbers for each text and each tag. */
  #past = new Int32Array(16 * NUMBERS_PER_EVENT);
  #pastLength = 0;
  /** Parts of the text that are skipped, so that names come without them. */
  #skipped = '';

  /** Reads from `start` on, as if the text began there. */
  constructor(html: string, start = 0) {
    this.html = html;
    this.at = start;
    this.start = start;
    this.end = start;
    this.#textStart = start;
    this.#markStart = start;
  }

  /** Name of the last tag or the one being read, in lower case. */
  get name(): string {
    this.#name ??= this.#isNamePlain
      ? this.html.slice(this.#nameStart, this.#nameEnd)
      : this.#readName(this.#nameStart, this.#nameEnd);
    return this.#name;
  }

  /** Text of the last text or CDATA section, as it would be written outside of one. */
  get text(): string {
    const { html, start, end } = this;
    if (!this.#isCdata) return html.slice(start, end);
    const isWhole = this.#state !== State.cdata;
    const content = html.slice(this.#contentStart, isWhole ? end - CDATA_END_CHARS : end);
    return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  }

  get isEndTag(): boolean {
    return this.#isEndTag;
  }

  /** Element whose content is being read as text; empty elsewhere. */
  get rawElement(): string {
    return this.#raw;
  }

  /**
   * Position before which something can be added that a browser reads separately: the end of the text, or the beginning
   * of what never ends. Valid once the text is read.
   */
  get openAt(): number {
    if (this.#raw !== '') return this.#rawStart;
    if (this.#state === State.data || this.#state === State.tagOpen) return this.html.length;
    return this.#markStart;
  }

  /** Whether the next text is in a script or style of an SVG or MathML image, whose content is read as markup. */
  get isInForeignScript(): boolean {
    return this.#open?.isInForeignScript === true;
  }

  get isInForeignStyle(): boolean {
    return this.#open?.isInForeignStyle === true;
  }

  /** Number of steps that following the open elements took, so that a test can check that the work is linear. */
  get elementSteps(): number {
    return this.#open?.steps ?? 0;
  }

  get region(): Region {
    switch (this.#state) {
      case State.data:
      case State.raw:
      case State.plaintext:
        return 'text';
      case State.comment:
        return 'comment';
      case State.doubleQuoted:
      case State.singleQuoted:
      case State.unquoted:
        return 'value';
      case State.beforeValue:
        return 'before value';
      default:
        return 'markup';
    }
  }

  /** Whether the value that is being read has no quotes. */
  get isUnquoted(): boolean {
    return this.#state === State.unquoted;
  }

  /** Start of the tag, comment or declaration that is being read. */
  get markStart(): number {
    return this.#markStart;
  }

  /** Start of the content of the comment that is being read. */
  get commentStart(): number {
    return this.#contentStart;
  }

  /** Start of the value that is being read. */
  get valueStart(): number {
    return this.#attributes[this.attributeCount * NUMBERS_PER_ATTRIBUTE + 2]!;
  }

  /** Name of the attribute whose value is being read or comes next. */
  get openAttribute(): string {
    // A value may be asked about at each of its characters, and a name may have a million.
    const start = this.#attributes[this.attributeCount * NUMBERS_PER_ATTRIBUTE]!;
    if (start !== this.#openStart) this.#openName = this.attributeName(this.attributeCount);
    this.#openStart = start;
    return this.#openName;
  }

  /** Skips the next character as if it were not there, wherever it is in the text. */
  skip(): void {
    this.#skipped = this.html.charAt(this.at);
    this.#isNamePlain = false;
    this.at += 1;
    if (this.#state === State.declarationOpen || this.#state === State.cdataOpen) this.#contentStart++;
  }

  /** Returns the name of an attribute in lower case, counted from 0. */
  attributeName(index: number): string {
    const at = index * NUMBERS_PER_ATTRIBUTE;
    return this.#readName(this.#attributes[at]!, this.#attributes[at + 1]!);
  }

  /** Returns the position of the value of an attribute, or the end of its name if it has none. */
  attributePlace(index: number): ValuePlace {
    const at = index * NUMBERS_PER_ATTRIBUTE;
    return { start: this.#attributes[at + 2]!, end: this.#attributes[at + 3]! };
  }

  /** Returns the position of the value of the first attribute with a name: the others do not count (HTML §13.2.5.33). */
  findAttribute(name: string): ValuePlace | undefined {
    for (let index = 0; index < this.attributeCount; index++) {
      const at = index * NUMBERS_PER_ATTRIBUTE;
      const isLong = this.#attributes[at + 1]! - this.#attributes[at]! === name.length;
      if ((isLong || this.#skipped !== '') && this.attributeName(index) === name) return this.attributePlace(index);
    }
    return undefined;
  }

  /** Attributes of the last tag, as written. */
  get attributeText(): string {
    return this.html.slice(this.#nameEnd, this.at);
  }

  /** Returns the value of an attribute as written, or an empty string. */
  readAttribute(name: string): string {
    const place = this.findAttribute(name);
    return place === undefined ? '' : this.html.slice(place.start, place.end);
  }

  /** Reads the next token, but not beyond the limit; the same call with a later limit continues it. */
  next(limit = this.html.length): TokenKind {
    while (this.at < limit) {
      const from = this.at;
      const kind = this.#step(limit);
      this.charsRead += this.at - from + 1;
      if (kind === undefined) continue;
      this.#isCdata = kind === 'cdata';
      return kind;
    }
    if (limit < this.html.length) return 'paused';
    const kind = this.#finish();
    this.#isCdata = kind === 'cdata';
    return kind;
  }

  /** Continues in the current state until another one begins or a token is read. */
  #step(limit: number): TokenKind | undefined {
    switch (this.#state) {
      case State.data:
        this.#findTag(limit, State.tagOpen);
        return this.at < limit ? this.#readTagOpen() : undefined;
      case State.tagOpen:
        return this.#readTagOpen();
      case State.endTagOpen:
        return this.#readEndTagOpen();
      case State.tagName:
        return this.#readTagName(limit);
      case State.beforeAttribute:
        return this.#readBeforeAttribute(limit);
      case State.attributeName:
        return this.#readAttributeName(limit);
      case State.afterAttributeName:
        return this.#readAfterAttributeName(limit);
      case State.beforeValue:
        return this.#readBeforeValue(limit);
      case State.doubleQuoted:
        return this.#readQuoted(DOUBLE_QUOTE, limit);
      case State.singleQuoted:
        return this.#readQuoted(SINGLE_QUOTE, limit);
      case State.unquoted:
        return this.#readUnquoted(limit);
      case State.declarationOpen:
      case State.declarationDash:
      case State.cdataOpen:
        return this.#readDeclarationOpen();
      case State.declaration:
        return this.#readDeclaration(limit);
      case State.comment:
        return this.#readComment(limit);
      case State.cdata:
        return this.#readCdata(limit);
      case State.plaintext:
        this.at = limit;
        return undefined;
      default:
        return this.#readRaw(limit);
    }
  }

  #code(): number {
    return this.html.charCodeAt(this.at);
  }

  /** Moves to the next occurrence of a character, or to the limit. */
  #moveTo(code: number, limit: number): void {
    if (limit === this.html.length) {
      const found = this.html.indexOf(String.fromCharCode(code), this.at);
      this.at = found < 0 ? limit : found;
      return;
    }
    // With many limits in one text, searching to the end each time would read it again and again.
    while (this.at < limit && this.#code() !== code) this.at++;
  }

  #findTag(limit: number, state: State): void {
    this.#moveTo(OPEN, limit);
    if (this.at === limit) return;
    this.#markStart = this.at++;
    this.#state = state;
  }

  /** Reports the text before the markup that begins at `#markStart`; undefined if there is none. */
  #endText(): TokenKind | undefined {
    if (this.#markStart === this.#textStart) return undefined;
    this.start = this.#textStart;
    this.end = this.#markStart;
    this.#textStart = this.#markStart;
    this.textElement = this.#raw;
    if (this.#raw === '') {
      if (this.#open) this.#open.readText(this.#isBlank(this.start, this.end));
      else this.#remember(Event.text, this.start, this.end, 0);
    }
    return 'text';
  }

  #isBlank(start: number, end: number): boolean {
    for (let at = start; at < end; at++) if (!isSpace(this.html.charCodeAt(at))) return false;
    return true;
  }

  /** Reports the markup from `#markStart` to the current position. */
  #endMark(kind: TokenKind, state: State): TokenKind {
    this.start = this.#markStart;
    this.end = this.at;
    this.#textStart = this.at;
    this.#state = state;
    return kind;
  }

  #readTagOpen(): TokenKind | undefined {
    const code = this.#code();
    if (isLetter(code)) return this.#beginTag(false);
    if (code === SLASH) {
      this.#state = State.endTagOpen;
      this.at++;
    } else if (code === BANG) {
      this.at++;
      this.#state = State.declarationOpen;
      this.#contentStart = this.at;
      return this.#endText();
    } else if (code === QUESTION_MARK) {
      this.#state = State.declaration;
      return this.#endText();
    } else this.#state = State.data;
    return undefined;
  }

  #readEndTagOpen(): TokenKind | undefined {
    if (isLetter(this.#code())) return this.#beginTag(true);
    // "</>" is dropped too, and ends right here.
    this.#state = State.declaration;
    return this.#endText();
  }

  #beginTag(isEndTag: boolean): TokenKind | undefined {
    this.#isEndTag = isEndTag;
    this.#nameStart = this.at;
    this.#nameEnd = this.at;
    this.#isNamePlain = true;
    this.#name = undefined;
    this.attributeCount = 0;
    this.#state = State.tagName;
    return this.#endText();
  }

  #readTagName(limit: number): TokenKind | undefined {
    while (this.at < limit) {
      const code = this.#code();
      if (isNameEnd(code)) break;
      if (!(code >= 97 && code <= 122)) this.#isNamePlain = false;
      this.at++;
    }
    this.#nameEnd = this.at;
    this.#name = undefined;
    if (this.at === limit) return undefined;
    this.#state = State.beforeAttribute;
    return this.#readBeforeAttribute(limit);
  }

  #readBeforeAttribute(limit: number): TokenKind | undefined {
    let code = 0;
    for (; this.at < limit; this.at++) {
      code = this.#code();
      if (code !== SLASH && !isSpace(code)) break;
    }
    if (this.at === limit) return undefined;
    if (code === CLOSE) return this.#endTag(this.html.charCodeAt(this.at - 1) === SLASH);
    const { length } = this.#attributes;
    if ((this.attributeCount + 1) * NUMBERS_PER_ATTRIBUTE > length) {
      const longer = new Int32Array(2 * length);
      longer.set(this.#attributes);
      this.#attributes = longer;
    }
    this.#note(0);
    // A name may begin with "=".
    this.at++;
    this.#state = State.attributeName;
    return this.#readAttributeName(limit);
  }

  /** Stores the present position for the attribute that is being read. */
  #note(number: 0 | 1 | 2 | 3): void {
    this.#attributes[this.attributeCount * NUMBERS_PER_ATTRIBUTE + number] = this.at;
  }

  #readAttributeName(limit: number): TokenKind | undefined {
    while (this.at < limit) {
      const code = this.#code();
      if (code === EQUALS || isNameEnd(code)) {
        this.#note(1);
        this.#state = State.afterAttributeName;
        return this.#readAfterAttributeName(limit);
      }
      this.at++;
    }
    this.#note(1);
    return undefined;
  }

  #readAfterAttributeName(limit: number): TokenKind | undefined {
    while (this.at < limit && isSpace(this.#code())) this.at++;
    if (this.at === limit) return undefined;
    if (this.#code() === EQUALS) {
      this.at++;
      this.#state = State.beforeValue;
      return this.#readBeforeValue(limit);
    }
    const at = this.attributeCount * NUMBERS_PER_ATTRIBUTE;
    this.#attributes[at + 2] = this.#attributes[at + 1]!;
    this.#attributes[at + 3] = this.#attributes[at + 1]!;
    this.attributeCount++;
    this.#state = State.beforeAttribute;
    return undefined;
  }

  #readBeforeValue(limit: number): TokenKind | undefined {
    while (this.at < limit && isSpace(this.#code())) this.at++;
    if (this.at === limit) return undefined;
    const code = this.#code();
    if (code === DOUBLE_QUOTE || code === SINGLE_QUOTE) {
      this.at++;
      this.#note(2);
      this.#state = code === DOUBLE_QUOTE ? State.doubleQuoted : State.singleQuoted;
      return this.#readQuoted(code, limit);
    }
    this.#note(2);
    this.#state = State.unquoted;
    return this.#readUnquoted(limit);
  }

  #readQuoted(quote: number, limit: number): TokenKind | undefined {
    this.#moveTo(quote, limit);
    if (this.at === limit) return undefined;
    this.#endValue();
    this.at++;
    return undefined;
  }

  #readUnquoted(limit: number): TokenKind | undefined {
    while (this.at < limit) {
      const code = this.#code();
      if (code === CLOSE || isSpace(code)) break;
      this.at++;
    }
    if (this.at === limit) return undefined;
    this.#endValue();
    return this.#code() === CLOSE ? this.#endTag(false) : undefined;
  }

  #endValue(): void {
    this.#note(3);
    this.attributeCount++;
    this.#state = State.beforeAttribute;
  }

  #endTag(isSelfClosing: boolean): TokenKind {
    this.at++;
    this.isSelfClosing = isSelfClosing;
    const { name } = this;
    if (this.#isEndTag) {
      // The elements with text content are never among the open ones.
      if (!this.#isRawEnd) {
        if (this.#open) this.#open.end(name);
        else this.#remember(Event.endTag, this.#nameStart, this.#nameEnd, 0);
      }
      this.#isRawEnd = false;
      return this.#endMark('end tag', State.data);
    }
    if (!this.#open && FOLLOWED.has(name)) this.#open = this.#followPast();
    if (!this.#open) this.#remember(Event.startTag, this.#nameStart, this.#nameEnd, this.at);
    const begun = this.#open?.begin(this) ?? 'html';
    this.isForeign = begun === 'foreign';
    return this.#endMark('start tag', begun === 'html' ? this.#chooseState(name) : State.data);
  }

  /** Stores a text or a tag in case that its place has to be known later. */
  #remember(event: number, start: number, end: number, tagEnd: number): void {
    const at = this.#pastLength;
    if (at + NUMBERS_PER_EVENT > this.#past.length) {
      const longer = new Int32Array(2 * this.#past.length);
      longer.set(this.#past);
      this.#past = longer;
    }
    this.#past[at] = event;
    this.#past[at + 1] = start;
    this.#past[at + 2] = end;
    this.#past[at + 3] = tagEnd;
    this.#pastLength += NUMBERS_PER_EVENT;
  }

  /** Most texts have no such element, and need not be followed. */
  #followPast(): OpenElements {
    const open = new OpenElements();
    for (let at = 0; at < this.#pastLength; at += NUMBERS_PER_EVENT) {
      const start = this.#past[at + 1]!;
      const end = this.#past[at + 2]!;
      if (this.#past[at] === Event.text) open.readText(this.#isBlank(start, end));
      else if (this.#past[at] === Event.endTag) open.end(this.#readName(start, end));
      else open.begin(new PastTag(this.#readName(start, end), this.html.slice(end, this.#past[at + 3])));
    }
    this.#past = new Int32Array(0);
    return open;
  }

  #chooseState(name: string): State {
    if (!RAW.has(name)) return State.data;
    this.#raw = name;
    this.#rawStart = this.#markStart;
    this.#scriptDepth = 0;
    return name === 'plaintext' ? State.plaintext : State.raw;
  }

  #readDeclarationOpen(): TokenKind | undefined {
    const code = this.#code();
    if (this.#state === State.declarationOpen && code === DASH) {
      this.#state = State.declarationDash;
      this.at++;
    } else if (this.#state === State.declarationDash && code === DASH) {
      this.at++;
      this.#state = State.comment;
      this.#contentStart = this.at;
    } else if (this.#state === State.declarationOpen && code === BRACKET && this.#open?.isInForeign === true) {
      this.#state = State.cdataOpen;
      this.at++;
    } else if (this.#state === State.cdataOpen && code === CDATA.charCodeAt(this.at - this.#contentStart)) {
      this.at++;
      if (this.at - this.#contentStart < CDATA.length) return undefined;
      this.#state = State.cdata;
      this.#contentStart = this.at;
    } else this.#state = State.declaration;
    return undefined;
  }

  #readDeclaration(limit: number): TokenKind | undefined {
    this.#moveTo(CLOSE, limit);
    if (this.at === limit) return undefined;
    this.at++;
    return this.#endMark('declaration', State.data);
  }

  #readComment(limit: number): TokenKind | undefined {
    this.#moveTo(CLOSE, limit);
    if (this.at === limit) return undefined;
    const isEnd = this.#isCommentEnd();
    this.at++;
    return isEnd ? this.#endMark('comment', State.data) : undefined;
  }

  /** Whether the `>` here ends a comment: after `--` or `--!`, and in "<!-->" and "<!--->". */
  #isCommentEnd(): boolean {
    const { html, at } = this;
    const length = at - this.#contentStart;
    if (length === 0) return true;
    if (length === 1) return html.charCodeAt(at - 1) === DASH;
    const dashesEnd = length > 2 && html.charCodeAt(at - 1) === BANG ? at - 1 : at;
    return html.charCodeAt(dashesEnd - 1) === DASH && html.charCodeAt(dashesEnd - 2) === DASH;
  }

  #readCdata(limit: number): TokenKind | undefined {
    this.#moveTo(CLOSE, limit);
    if (this.at === limit) return undefined;
    this.at++;
    let at = this.at - 2;
    for (let brackets = 0; brackets < 2; at--) {
      const code = this.html.charCodeAt(at);
      if (this.#skipped !== '' && this.html.charAt(at) === this.#skipped) continue;
      if (code !== CLOSE_BRACKET || at < this.#contentStart) return undefined;
      brackets++;
    }
    this.#open?.readText(this.#isBlank(this.#contentStart, this.at - CDATA_END_CHARS));
    return this.#endMark('cdata', State.data);
  }

  /** Reads one character that may be part of the end tag of an element with text content, or all up to the next such character. */
  #readRaw(limit: number): TokenKind | undefined {
    if (this.#state === State.raw && this.#scriptDepth === 0) {
      // Only an end tag ends it, and nothing else begins in it unless it is a script.
      if (this.#raw !== 'script' && limit === this.html.length) {
        const found = this.html.indexOf('</', this.at);
        this.at = found < 0 ? limit : found;
      }
      this.#findTag(limit, State.rawTagOpen);
      return undefined;
    }
    const code = this.#code();
    switch (this.#state) {
      case State.raw:
        this.#readEscapedScript(code);
        return undefined;
      case State.rawTagOpen:
        return this.#readRawTagOpen(code);
      case State.rawEndTagOpen:
        this.#beginRawName(code, State.rawEndTagName);
        return undefined;
      case State.rawEndTagName:
        return this.#readRawEndTagName(code);
      case State.scriptTagName:
        if (isLetter(code)) this.at++;
        else {
          const isScript = isNameEnd(code) && this.#readName(this.#nameStart, this.at) === 'script';
          if (isScript) this.#scriptDepth = 2;
          this.#state = State.raw;
          this.#dashes = 0;
        }
        return undefined;
      case State.scriptBang:
        if (code === DASH) this.at++;
        this.#state = code === DASH ? State.scriptBangDash : State.raw;
        return undefined;
      default:
        // This is the "<!-" in a script.
        this.#state = State.raw;
        if (code !== DASH) return undefined;
        this.at++;
        this.#scriptDepth = 1;
        // The dashes of "<!--" may end the comment as well: "<!-->".
        this.#dashes = 2;
        return undefined;
    }
  }

  #readEscapedScript(code: number): void {
    this.at++;
    if (code === OPEN) {
      this.#markStart = this.at - 1;
      this.#state = State.rawTagOpen;
    } else if (code === DASH) this.#dashes++;
    else {
      if (code === CLOSE && this.#dashes >= 2) this.#scriptDepth = 0;
      this.#dashes = 0;
    }
  }

  #readRawTagOpen(code: number): TokenKind | undefined {
    if (code === SLASH) {
      this.#state = State.rawEndTagOpen;
      this.at++;
    } else if (code === BANG && this.#raw === 'script' && this.#scriptDepth === 0) {
      this.#state = State.scriptBang;
      this.at++;
    } else if (this.#scriptDepth === 1) this.#beginRawName(code, State.scriptTagName);
    else {
      this.#state = State.raw;
      this.#dashes = 0;
    }
    return undefined;
  }

  #beginRawName(code: number, state: State): void {
    if (isLetter(code)) {
      this.#nameStart = this.at++;
      this.#state = state;
    } else {
      this.#state = State.raw;
      this.#dashes = 0;
    }
  }

  #readRawEndTagName(code: number): TokenKind | undefined {
    if (isLetter(code)) {
      this.at++;
      return undefined;
    }
    const isEnd = isNameEnd(code) && this.#readName(this.#nameStart, this.at) === this.#raw;
    this.#dashes = 0;
    if (!isEnd) this.#state = State.raw;
    else if (this.#scriptDepth === 2) {
      this.#scriptDepth = 1;
      this.#state = State.raw;
    } else {
      this.#isEndTag = true;
      this.#nameEnd = this.at;
      this.#name = this.#raw;
      this.attributeCount = 0;
      this.#state = State.beforeAttribute;
      this.#isRawEnd = true;
      const text = this.#endText();
      this.#raw = '';
      return text;
    }
    return undefined;
  }

  #readName(start: number, end: number): string {
    this.charsRead += end - start;
    const name = lowerName(this.html.slice(start, end));
    return this.#skipped === '' ? name : name.replaceAll(this.#skipped, '');
  }

  /** Reports the remaining text at the end. */
  #finish(): TokenKind {
    const { length } = this.html;
    if (this.#textStart === length) return 'end';
    const isText =
      this.#state === State.data ||
      this.#state === State.tagOpen ||
      this.#state === State.endTagOpen ||
      this.#raw !== '';
    this.start = this.#textStart;
    this.end = length;
    this.#textStart = length;
    this.textElement = this.#raw;
    if (isText) return 'text';
    if (this.#state === State.comment) return 'comment';
    return this.#state === State.cdata ? 'cdata' : 'unfinished';
  }

  /** Number of open elements of SVG and MathML. */
  get foreignDepth(): number {
    return this.#open?.foreignDepth ?? 0;
  }
}
