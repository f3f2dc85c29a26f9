/** A start tag that was read whole. */
export interface StartTag {
  readonly name: string;
  readonly isSelfClosing: boolean;
  /** The attributes as written, by which equal formatting elements are recognized. */
  readonly attributeText: string;
  findAttribute(name: string): unknown;
  readAttribute(name: string): string;
}

const words = (text: string): readonly string[] => text.split(' ');

/** Elements without content (HTML §13.1.2). */
export const VOID = new Set(words('area base br col embed frame hr img input link meta param source track wbr'));
/** Elements without content in older HTML, and names that browsers take for `<img>`. */
const EMPTY = new Set([...VOID, ...words('basefont bgsound keygen image')]);

/** Elements whose content is text, whatever it looks like (HTML §13.2.6.4.4, .7). Scripting is off, as in mail programs. */
export const RAW = new Set(words('script style title textarea xmp iframe noembed noframes plaintext'));

/** Start tags that end SVG and MathML (HTML §13.2.6.5). */
const LEAVE_FOREIGN = new Set([
  ...words(
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu',
  ),
  ...words('meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var'),
]);

/** The properties of an element for the rules that search the open elements (HTML §13.2.4.2 and §13.2.6). */
const Mark = {
  /** Ends the search for an element "in scope". */
  scope: 1,
  /** The same for list items, for paragraphs, and in tables. */
  listScope: 2,
  buttonScope: 4,
  tableScope: 8,
  special: 16,
  /** Special, and neither `address`, `div` nor `p`: ends the search for a list item. */
  item: 32,
  heading: 64,
  /** Decides which rules apply to parts of tables. */
  table: 128,
  html: 256,
} as const;
const MARK_COUNT = 9;
const FOREIGN = 9;
const SCRIPTS = 10;
const STYLES = 11;
const NUMBERS_PER_ELEMENT = 12;
const SCOPE = 0;
const LIST_SCOPE = 1;
const BUTTON_SCOPE = 2;
const TABLE_SCOPE = 3;
const SPECIAL = 4;
const ITEM = 5;
const HEADING = 6;
const TABLE = 7;
const HTML = 8;

const EVERY_SCOPE = Mark.scope | Mark.listScope | Mark.buttonScope;
const IS_SPECIAL = Mark.special | Mark.item;

const MARKS = new Map<string, number>();
function mark(names: string, marks: number): void {
  for (const name of words(names)) MARKS.set(name, (MARKS.get(name) ?? Mark.html) | marks);
}
mark('address div p', Mark.special);
mark(
  'applet article aside blockquote button caption center colgroup dd details dir dl dt fieldset figcaption',
  IS_SPECIAL,
);
mark('figure footer form header hgroup li listing main marquee menu nav noscript object ol pre search', IS_SPECIAL);
mark('section select summary table tbody td template tfoot th thead tr ul frameset', IS_SPECIAL);
mark('h1 h2 h3 h4 h5 h6', IS_SPECIAL | Mark.heading);
mark('applet caption table td th marquee object select template', EVERY_SCOPE);
mark('ol ul', Mark.listScope);
mark('button', Mark.buttonScope);
mark('table template', Mark.tableScope);
mark('table caption colgroup tbody thead tfoot tr td th template', Mark.table);

const BLOCKS = new Set([
  ...words('address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer'),
  ...words('header hgroup main menu nav ol p search section summary ul pre listing'),
]);
const ENDED_IN_SCOPE = new Set([...BLOCKS, ...words('button select dd dt')].filter((name) => name !== 'p'));
const FORMATTING = new Set(words('a b big code em font i nobr s small strike strong tt u'));
const HOLDS_FORMATTING = new Set(words('applet marquee object'));
const HEADINGS = new Set(words('h1 h2 h3 h4 h5 h6'));
const IMPLIED_END = new Set(words('dd dt li optgroup option p rb rp rt rtc'));
const TABLE_PARTS = new Set(words('caption col colgroup tbody td tfoot th thead tr'));
const TABLE_BODIES = new Set(words('tbody tfoot thead'));
const CELLS = new Set(words('td th'));
const IN_TABLE = new Set(['table', 'template']);
const IN_TABLE_BODY = new Set([...TABLE_BODIES, 'template']);
const IN_ROW = new Set(['tr', 'template']);
/** Elements that are dropped where they are not expected, and never stay open. */
const DROPPED = new Set(words('html head body frameset frame'));
/** Elements that may begin a document without beginning its body. */
const IN_HEAD = new Set(
  words('html head base basefont bgsound link meta title style script noframes template noscript'),
);
const IN_HEAD_NOSCRIPT = new Set(words('html basefont bgsound link meta noframes style'));

/** Elements of SVG and MathML in which start tags and text are HTML. */
const HOLDS_HTML = {
  svg: new Set(['foreignobject', 'desc', 'title']),
  math: new Set(['mi', 'mo', 'mn', 'ms', 'mtext']),
};

const KNOWN = new Map(
  [
    ...[MARKS.keys(), BLOCKS, FORMATTING, EMPTY, IMPLIED_END, DROPPED, IN_HEAD, LEAVE_FOREIGN].flatMap((names) => [
      ...names,
    ]),
    ...words('svg math script span font textarea xmp'),
  ].map((name) => [name, name]),
);
/** Returns one string for equal names, because comparing it with others takes less time. */
const intern = (name: string): string => KNOWN.get(name) ?? name;

/** The number of open formatting elements that are remembered; browsers remember all, in quadratic time. */
const FORMATTING_MAX = 40;
/** The number of blocks that one end tag of a formatting element may go through (HTML §13.2.6.4.7). */
const ADOPTIONS_MAX = 7;

/** Elements that are handled like those of a head wherever they are, and are closed before any other tag. */
const NOT_IN_TREE = new Set(words('script style title noframes base link meta basefont bgsound'));
/** Empty elements that are part of a line of text. */
const REOPENS = new Set(words('area br embed img image input keygen wbr'));

/** `again`: something has ended, and the tag is handled by the rules of the place around it. */
type Step = 'done' | 'again' | 'body' | 'dropped';

type Space = 'html' | 'svg' | 'math';

interface Element {
  name: string;
  is: Space;
  /** Whether start tags and text in the element are HTML: everywhere in HTML, and in some elements of SVG and MathML. */
  holds: 'html' | 'math text' | 'annotation' | 'nothing';
  /** Differs for each element that was ever open. */
  serial: number;
  /** Whether the element was removed although elements in it stay open. */
  isGone: boolean;
  /** The next outer element of this name. */
  outerOfName: number;
}

/** A formatting element that is reopened after the block around it has ended; `name` is empty for a border. */
interface Formatting {
  name: string;
  attributeText: string;
  index: number;
  serial: number;
}

/**
 * Follows which elements are open as the tree construction of a browser does (HTML §13.2.6), without a tree, because it
 * decides whether the text that follows is HTML or belongs to SVG or MathML. Each tag takes a constant number of steps on
 * average: an element knows the innermost of each kind around it, so that nothing is searched.
 *
 * Quirks, frames, and the limits of browsers are not followed.
 */
export class OpenElements {
  /** Elements beyond `#count` are used again. */
  readonly #elements: Element[] = [];
  /** Number of elements that were opened, closed or looked at. */
  steps = 0;
  #count = 0;
  #serial = 0;
  /** For each element, the innermost one with each mark, and the numbers of elements of SVG and MathML around it. */
  #numbers = new Int32Array(8 * NUMBERS_PER_ELEMENT);
  readonly #lastHtml = new Map<string, number>();
  readonly #lastForeign = new Map<string, number>();
  readonly #formatting: Formatting[] = [];
  #form = -1;
  #formSerial = 0;
  #hasBody = false;
  /** The rules for parts of tables in each open `<template>`, named by the element whose rules they are. */
  readonly #templates: string[] = [];

  get #top(): Element | undefined {
    return this.#elements[this.#count - 1];
  }

  /** Number of open elements of SVG and MathML. */
  get foreignDepth(): number {
    return this.#count === 0 ? 0 : this.#number(this.#count - 1, FOREIGN);
  }

  /** Whether the innermost element is one of SVG or MathML. */
  get isInForeign(): boolean {
    const top = this.#top;
    return top !== undefined && top.is !== 'html';
  }

  get isInForeignScript(): boolean {
    return this.#count > 0 && this.#number(this.#count - 1, SCRIPTS) > 0;
  }

  get isInForeignStyle(): boolean {
    return this.#count > 0 && this.#number(this.#count - 1, STYLES) > 0;
  }

  /** Handles text outside of elements with text content. */
  readText(isBlank: boolean): void {
    const top = this.#top;
    if (top !== undefined && top.is !== 'html' && top.holds !== 'html' && top.holds !== 'math text') return;
    if (isBlank && !this.#hasBody) return;
    this.#beginBody('');
    const rules = this.#tableRules();
    if (rules === 'colgroup' && !isBlank) this.#endColumns();
    if (isBlank && rules !== '' && !CELLS.has(rules) && rules !== 'caption') return;
    this.#reopenFormatting();
  }

  /** Handles a start tag; returns what its element is, and `dropped` if a browser makes none. */
  begin(tag: StartTag): 'html' | 'foreign' | 'dropped' {
    const name = intern(tag.name);
    const top = this.#top;
    if (top !== undefined && top.is !== 'html' && !this.#isHtmlIn(top, name)) {
      const leaves = LEAVE_FOREIGN.has(name) || (name === 'font' && hasFontAttribute(tag));
      if (!leaves) {
        this.#pushForeign(name, tag, top.is);
        return 'foreign';
      }
      this.#leaveForeign();
    }
    this.#beginBody(name);
    if (!this.#beginHtml(name, tag)) return 'dropped';
    return name === 'svg' || name === 'math' ? 'foreign' : 'html';
  }

  /** Handles an end tag. */
  end(givenName: string): void {
    const name = intern(givenName);
    const top = this.#top;
    if (top !== undefined && top.is !== 'html') {
      if (name === 'p' || name === 'br') this.#leaveForeign();
      else {
        const found = this.#lastForeign.get(name) ?? -1;
        if (found > this.#number(this.#count - 1, HTML)) {
          this.#popTo(found);
          return;
        }
      }
    }
    if (!this.#hasBody && this.#templates.length === 0 && name !== 'template' && name !== 'noscript') return;
    this.#endHtml(name);
  }

  #isHtmlIn(top: Element, name: string): boolean {
    if (top.holds === 'math text') return name !== 'mglyph' && name !== 'malignmark';
    return top.holds === 'html' || (top.holds === 'annotation' && name === 'svg');
  }

  /** Ends the elements of SVG and MathML up to one that holds HTML. */
  #leaveForeign(): void {
    for (let top = this.#top; top && top.is !== 'html' && !this.#isHtmlIn(top, 'p'); top = this.#top) this.#pop();
  }

  /** The first tag that does not belong into a head begins the body. */
  #beginBody(name: string): void {
    if (this.#hasBody || this.#templates.length > 0) return;
    const top = this.#top;
    if (top?.name === 'noscript') {
      if (IN_HEAD_NOSCRIPT.has(name)) return;
      this.#pop();
    }
    this.#hasBody = !IN_HEAD.has(name);
  }

  #number(index: number, which: number): number {
    return index < 0 ? -1 : this.#numbers[index * NUMBERS_PER_ELEMENT + which]!;
  }

  #push(name: string, is: Space, holds: Element['holds'], marks: number): void {
    const index = this.#count++;
    const last = is === 'html' ? this.#lastHtml : this.#lastForeign;
    const outerOfName = last.get(name) ?? -1;
    last.set(name, index);
    const serial = ++this.#serial;
    this.steps++;
    const element = this.#elements[index];
    if (element === undefined) this.#elements.push({ name, is, holds, serial, isGone: false, outerOfName });
    else {
      element.name = name;
      element.is = is;
      element.holds = holds;
      element.serial = serial;
      element.isGone = false;
      element.outerOfName = outerOfName;
    }
    this.#writeNumbers(index, marks, is !== 'html' ? name : '');
  }

  /** Writes the numbers of a new element, most of which are those of the element around it. */
  #writeNumbers(index: number, marks: number, foreignName: string): void {
    const at = index * NUMBERS_PER_ELEMENT;
    if (at + NUMBERS_PER_ELEMENT > this.#numbers.length) {
      const longer = new Int32Array(2 * this.#numbers.length);
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    const numbers = this.#numbers;
    if (index === 0) numbers.fill(-1, 0, FOREIGN).fill(0, FOREIGN, NUMBERS_PER_ELEMENT);
    else for (let i = at; i < at + NUMBERS_PER_ELEMENT; i++) numbers[i] = numbers[i - NUMBERS_PER_ELEMENT]!;
    if (marks === Mark.html) numbers[at + HTML] = index;
    else for (let bit = 0; bit < MARK_COUNT; bit++) if ((marks & (1 << bit)) !== 0) numbers[at + bit] = index;
    if (foreignName === '') return;
    numbers[at + FOREIGN]! += 1;
    if (foreignName === 'script') numbers[at + SCRIPTS]! += 1;
    if (foreignName === 'style') numbers[at + STYLES]! += 1;
  }

  #pushHtml(name: string): void {
    this.#push(name, 'html', 'html', MARKS.get(name) ?? Mark.html);
  }

  #pushForeign(name: string, tag: StartTag, is: 'svg' | 'math'): void {
    if (tag.isSelfClosing) return;
    let holds: Element['holds'] = 'nothing';
    if (HOLDS_HTML[is].has(name)) holds = is === 'svg' ? 'html' : 'math text';
    else if (is === 'math' && name === 'annotation-xml') holds = isHtmlAnnotation(tag) ? 'html' : 'annotation';
    this.#push(name, is, holds, holds === 'nothing' ? 0 : EVERY_SCOPE | IS_SPECIAL);
  }

  #pop(): void {
    do {
      this.steps++;
      const element = this.#elements[--this.#count]!;
      const last = element.is === 'html' ? this.#lastHtml : this.#lastForeign;
      // An element that was removed from the middle is not the last of its name any more.
      if (last.get(element.name) === this.#count) last.set(element.name, element.outerOfName);
      if (element.name === 'template' && element.is === 'html') this.#templates.pop();
    } while (this.#top?.isGone === true);
  }

  /** Ends the element at an index, and everything in it. */
  #popTo(index: number): void {
    while (this.#count > index) this.#pop();
  }

  /** Removes an element and keeps those in it. */
  #remove(index: number): void {
    if (index === this.#count - 1) this.#pop();
    else this.#elements[index]!.isGone = true;
  }

  /** Returns the index of the innermost open element of HTML with a name, or -1. */
  #find(name: string): number {
    let index = this.#lastHtml.get(name) ?? -1;
    for (; index >= 0 && this.#elements[index]!.isGone; this.steps++) index = this.#elements[index]!.outerOfName;
    if (index >= 0) this.#lastHtml.set(name, index);
    return index;
  }

  /** Returns the index of the innermost element with a mark, or -1. */
  #findMark(bit: number): number {
    let index = this.#number(this.#count - 1, bit);
    for (; index >= 0 && this.#elements[index]!.isGone; this.steps++) index = this.#number(index - 1, bit);
    return index;
  }

  /** Returns the index of an element that is open within a scope, or -1. */
  #findIn(scope: number, name: string): number {
    const index = this.#find(name);
    return index >= this.#findMark(scope) ? index : -1;
  }

  #popImplied(except = ''): void {
    for (let top = this.#top; top?.is === 'html'; top = this.#top) {
      if (top.name === except || !IMPLIED_END.has(top.name)) return;
      this.#pop();
    }
  }

  #endIn(scope: number, name: string): boolean {
    const index = this.#findIn(scope, name);
    if (index >= 0) this.#popTo(index);
    return index >= 0;
  }

  #endParagraph(): void {
    this.#endIn(BUTTON_SCOPE, 'p');
  }

  /** Returns the name of the part of a table whose rules apply, or an empty string in the body. */
  #tableRules(): string {
    const index = this.#findMark(TABLE);
    const name = this.#elements[index]?.name ?? '';
    return name === 'template' ? (this.#templates.at(-1) ?? '') : name;
  }

  #popUntilTop(names: ReadonlySet<string>): void {
    for (let top = this.#top; top && !(top.is === 'html' && names.has(top.name)); top = this.#top) this.#pop();
  }

  #endColumns(): void {
    if (this.#top?.name === 'colgroup') this.#pop();
  }

  /**
   * Handles a start tag of HTML by the rules of the place; returns false if it is dropped. A part of a table ends others
   * until its own rules apply.
   */
  #beginHtml(name: string, tag: StartTag): boolean {
    if (name === 'template') {
      this.#pushHtml(name);
      this.#templates.push('template');
      this.#addBorder();
      return true;
    }
    for (;;) {
      const rules = this.#tableRules();
      if (NOT_IN_TREE.has(name) && rules !== 'colgroup') return true;
      const step = rules === '' ? 'body' : this.#beginInTable(rules, name);
      if (step === 'again') continue;
      if (step !== 'body') return step === 'done';
      if (TABLE_PARTS.has(name)) return false;
      this.#beginInBody(name, tag);
      return true;
    }
  }

  #beginInTable(rules: string, name: string): Step {
    switch (rules) {
      case 'template':
        this.#templates[this.#templates.length - 1] = rulesInTemplate(name);
        return 'again';
      case 'td':
      case 'th':
      case 'caption':
        if (!TABLE_PARTS.has(name)) return 'body';
        this.#endCell();
        return 'again';
      case 'colgroup':
        if (name === 'col') return 'done';
        if (this.#top?.name !== 'colgroup') return 'dropped';
        this.#pop();
        return 'again';
      case 'tr':
        if (CELLS.has(name)) {
          this.#popUntilTop(IN_ROW);
          this.#pushHtml(name);
          this.#addBorder();
          return 'done';
        }
        return TABLE_PARTS.has(name) ? this.#endPart(['tr'], IN_ROW) : this.#beginInTableOnly(name);
      case 'tbody':
      case 'tfoot':
      case 'thead':
        if (name === 'tr' || CELLS.has(name)) {
          this.#popUntilTop(IN_TABLE_BODY);
          this.#pushHtml('tr');
          return name === 'tr' ? 'done' : 'again';
        }
        return TABLE_PARTS.has(name) ? this.#endPart(TABLE_BODIES, IN_TABLE_BODY) : this.#beginInTableOnly(name);
      default:
        return this.#beginInTableOnly(name);
    }
  }

  #beginInTableOnly(name: string): Step {
    if (name === 'table') {
      if (!this.#endIn(TABLE_SCOPE, 'table')) return 'done';
      return 'again';
    }
    if (name === 'form') {
      if (this.#templates.length > 0 || this.#isFormOpen()) return 'done';
      this.#pushHtml('form');
      this.#rememberForm();
      this.#pop();
      return 'done';
    }
    if (!TABLE_PARTS.has(name)) return 'body';
    this.#popUntilTop(IN_TABLE);
    if (name === 'caption') this.#addBorder();
    const opened = name === 'col' ? 'colgroup' : name === 'tr' || CELLS.has(name) ? 'tbody' : name;
    this.#pushHtml(opened);
    return opened === 'tbody' && name !== 'tbody' ? 'again' : 'done';
  }

  #endCell(): void {
    this.#popTo(this.#findMark(TABLE));
    this.#clearFormatting();
  }

  /** Ends the row, or the group of rows, of the innermost table. */
  #endPart(names: Iterable<string>, context: ReadonlySet<string>): Step {
    if (![...names].some((name) => this.#findIn(TABLE_SCOPE, name) >= 0)) return 'done';
    this.#popUntilTop(context);
    this.#pop();
    return 'again';
  }

  #beginInBody(name: string, tag: StartTag): void {
    if (BLOCKS.has(name) || HEADINGS.has(name)) {
      this.#endParagraph();
      if (HEADINGS.has(name) && this.#top?.is === 'html' && HEADINGS.has(this.#top.name)) this.#pop();
      this.#pushHtml(name);
    } else if (FORMATTING.has(name)) this.#beginFormatting(name, tag);
    else if (EMPTY.has(name)) this.#beginEmpty(name);
    else if (!DROPPED.has(name)) this.#beginOther(name, tag);
  }

  #beginFormatting(name: string, { attributeText }: StartTag): void {
    if (name === 'a') {
      const open = this.#findFormatting('a');
      if (open) {
        this.#adopt('a');
        this.#forget(open);
        if (this.#isOpen(open)) this.#remove(open.index);
      }
    }
    this.#reopenFormatting();
    if (name === 'nobr' && this.#findIn(SCOPE, 'nobr') >= 0) {
      this.#adopt('nobr');
      this.#reopenFormatting();
    }
    this.#pushHtml(name);
    this.#addFormatting(name, attributeText);
  }

  #beginEmpty(name: string): void {
    if (name === 'hr') {
      this.#endParagraph();
      if (this.#findIn(SCOPE, 'select') >= 0) this.#popImplied();
    } else if (REOPENS.has(name)) {
      if (name === 'input') this.#endIn(SCOPE, 'select');
      this.#reopenFormatting();
    }
  }

  #beginOther(name: string, tag: StartTag): void {
    switch (name) {
      case 'form':
        if (this.#templates.length === 0 && this.#isFormOpen()) return;
        this.#endParagraph();
        this.#pushHtml(name);
        if (this.#templates.length === 0) this.#rememberForm();
        return;
      case 'li':
      case 'dd':
      case 'dt': {
        const item = this.#findMark(ITEM);
        const found = this.#elements[item];
        if (found?.is === 'html' && (name === 'li' ? found.name === 'li' : found.name === 'dd' || found.name === 'dt'))
          this.#popTo(item);
        this.#endParagraph();
        this.#pushHtml(name);
        return;
      }
      case 'plaintext':
      case 'xmp':
        this.#endParagraph();
        if (name === 'xmp') this.#reopenFormatting();
        return;
      case 'textarea':
      case 'iframe':
      case 'noembed':
        return;
      case 'table':
        this.#endParagraph();
        this.#pushHtml(name);
        return;
      case 'select':
        if (this.#endIn(SCOPE, name)) return;
        break;
      case 'button':
        this.#endIn(SCOPE, name);
        break;
      case 'option':
      case 'optgroup':
        if (this.#findIn(SCOPE, 'select') >= 0) this.#popImplied(name === 'option' ? 'optgroup' : '');
        else if (this.#top?.is === 'html' && this.#top.name === 'option') this.#pop();
        break;
      case 'rb':
      case 'rtc':
      case 'rp':
      case 'rt':
        if (this.#findIn(SCOPE, 'ruby') >= 0) this.#popImplied(name === 'rp' || name === 'rt' ? 'rtc' : '');
        this.#pushHtml(name);
        return;
      default:
    }
    this.#reopenFormatting();
    if (name === 'svg' || name === 'math') {
      if (!tag.isSelfClosing) this.#push(name, name, 'nothing', 0);
      return;
    }
    this.#pushHtml(name);
    if (HOLDS_FORMATTING.has(name)) this.#addBorder();
  }

  /** Handles an end tag by the rules of the place. */
  #endHtml(name: string): void {
    if (name === 'template') {
      const index = this.#find(name);
      if (index < 0) return;
      this.#popTo(index);
      this.#clearFormatting();
      return;
    }
    for (;;) {
      const rules = this.#tableRules();
      switch (rules === '' ? 'body' : this.#endInTable(rules, name)) {
        case 'again':
          continue;
        case 'body':
          this.#endInBody(name);
          return;
        default:
          return;
      }
    }
  }

  #endInTable(rules: string, name: string): Step {
    const isPart = TABLE_PARTS.has(name);
    if (rules === 'template') return 'done';
    if (rules === 'colgroup') {
      if (name === 'col' || this.#top?.name !== 'colgroup') return 'done';
      this.#pop();
      return name === 'colgroup' ? 'done' : 'again';
    }
    if (!isPart && name !== 'table') return 'body';
    if (rules === 'caption') {
      if (name !== 'caption' && name !== 'table') return 'done';
      this.#endCell();
      return name === 'caption' ? 'done' : 'again';
    }
    if (name === 'caption' || name === 'col' || name === 'colgroup') return 'done';
    if (CELLS.has(rules)) {
      if (this.#findIn(TABLE_SCOPE, name) < 0) return 'done';
      if (CELLS.has(name)) {
        this.#endIn(TABLE_SCOPE, name);
        this.#clearFormatting();
        return 'done';
      }
      this.#endCell();
      return 'again';
    }
    if (CELLS.has(name)) return 'done';
    if (name === 'table' && rules === 'table') {
      this.#endIn(TABLE_SCOPE, name);
      return 'done';
    }
    if (rules === 'table' || (name !== 'table' && this.#findIn(TABLE_SCOPE, name) < 0)) return 'done';
    if (rules === 'tr') {
      const step = this.#endPart(['tr'], IN_ROW);
      return name === 'tr' ? 'done' : step;
    }
    if (name === 'tr') return 'done';
    const step = this.#endPart(name === 'table' ? TABLE_BODIES : [name], IN_TABLE_BODY);
    return name === 'table' ? step : 'done';
  }

  #endInBody(name: string): void {
    if (FORMATTING.has(name)) this.#adopt(name);
    else if (name === 'p') this.#endParagraph();
    else if (name === 'li') this.#endIn(LIST_SCOPE, name);
    else if (name === 'br') this.#reopenFormatting();
    else if (HEADINGS.has(name)) {
      const index = this.#findMark(HEADING);
      if (index >= 0 && index >= this.#findMark(SCOPE)) this.#popTo(index);
    } else if (name === 'form' && this.#templates.length === 0) this.#endForm();
    else if (ENDED_IN_SCOPE.has(name)) this.#endIn(SCOPE, name);
    else if (HOLDS_FORMATTING.has(name)) {
      if (this.#endIn(SCOPE, name)) this.#clearFormatting();
    } else if (!DROPPED.has(name)) this.#endOther(name);
  }

  #endOther(name: string): void {
    const index = this.#find(name);
    if (index >= 0 && index >= this.#findMark(SPECIAL)) this.#popTo(index);
  }

  #isFormOpen(): boolean {
    return this.#form >= 0;
  }

  #rememberForm(): void {
    this.#form = this.#count - 1;
    this.#formSerial = this.#serial;
  }

  /** A form ends without the elements in it. */
  #endForm(): void {
    const form = { index: this.#form, serial: this.#formSerial };
    this.#form = -1;
    if (form.index < 0 || !this.#isOpen(form) || form.index < this.#findMark(SCOPE)) return;
    this.#popImplied();
    this.#remove(form.index);
  }

  #addBorder(): void {
    this.#formatting.push({ name: '', attributeText: '', index: -1, serial: 0 });
  }

  #clearFormatting(): void {
    while (this.#formatting.length > 0 && this.#formatting.pop()?.name !== '');
  }

  /** Remembers the innermost element; of more than three equal ones, the last three (HTML §13.2.4.3). */
  #addFormatting(name: string, attributeText: string): void {
    const all = this.#formatting;
    let equal = 0;
    let earliest = -1;
    let at = all.length - 1;
    for (; at >= 0 && all[at]!.name !== ''; at--) {
      if (all[at]!.name !== name || all[at]!.attributeText !== attributeText) continue;
      equal++;
      earliest = at;
    }
    if (equal >= 3) all.splice(earliest, 1);
    else if (all.length - 1 - at >= FORMATTING_MAX) all.splice(at + 1, 1);
    all.push({ name, attributeText, index: this.#count - 1, serial: this.#serial });
  }

  #findFormatting(name: string): Formatting | undefined {
    for (let at = this.#formatting.length - 1; at >= 0 && this.#formatting[at]!.name !== ''; at--)
      if (this.#formatting[at]!.name === name) return this.#formatting[at];
    return undefined;
  }

  #forget(one: Formatting): void {
    const at = this.#formatting.lastIndexOf(one);
    if (at >= 0) this.#formatting.splice(at, 1);
  }

  #isOpen({ index, serial }: Pick<Formatting, 'index' | 'serial'>): boolean {
    const element = this.#elements[index];
    return index < this.#count && element?.serial === serial && !element.isGone;
  }

  /** Opens formatting elements again that ended with a block and not by their own end tag. */
  #reopenFormatting(): void {
    const all = this.#formatting;
    let at = all.length;
    while (at > 0 && all[at - 1]!.name !== '' && !this.#isOpen(all[at - 1]!)) at--;
    for (; at < all.length; at++) {
      const one = all[at]!;
      this.#pushHtml(one.name);
      one.index = this.#count - 1;
      one.serial = this.#serial;
    }
  }

  /**
   * Ends a formatting element that may have blocks in it: they stay open, and lose it ("adoption agency algorithm", HTML
   * §13.2.6.4.7).
   */
  #adopt(name: string): void {
    const top = this.#top;
    const one = this.#findFormatting(name);
    if (top?.is === 'html' && top.name === name && !this.#isRemembered(this.#count - 1)) {
      this.#pop();
      return;
    }
    if (!one) {
      this.#endOther(name);
      return;
    }
    if (!this.#isOpen(one)) {
      this.#forget(one);
      return;
    }
    if (one.index < this.#findMark(SCOPE)) return;
    const block = this.#findMark(SPECIAL);
    if (block < one.index) {
      this.#forget(one);
      this.#popTo(one.index);
      return;
    }
    if (this.#countBlocksDownTo(one.index) > ADOPTIONS_MAX) return;
    this.#popTo(block + 1);
    const kept = new Set(this.#formatting.map(({ index }) => index));
    for (let index = one.index + 1; index < block; index++) {
      this.steps++;
      if (this.#number(index, SPECIAL) !== index && !kept.has(index)) this.#elements[index]!.isGone = true;
    }
    this.#forget(one);
    this.#remove(one.index);
  }

  #countBlocksDownTo(index: number): number {
    let count = 0;
    for (let at = this.#findMark(SPECIAL); at > index && count <= ADOPTIONS_MAX; count++)
      at = this.#number(at - 1, SPECIAL);
    return count;
  }

  #isRemembered(index: number): boolean {
    const { serial } = this.#elements[index]!;
    for (let at = this.#formatting.length - 1; at >= 0 && this.#formatting[at]!.name !== ''; at--)
      if (this.#formatting[at]!.serial === serial) return true;
    return false;
  }
}

/** Returns the rules for the content of a `<template>`, chosen by the first element in it. */
function rulesInTemplate(name: string): string {
  if (name === 'col') return 'colgroup';
  if (name === 'tr') return 'tbody';
  if (CELLS.has(name)) return 'tr';
  return TABLE_PARTS.has(name) ? 'table' : '';
}

const hasFontAttribute = (tag: StartTag): boolean =>
  ['color', 'face', 'size'].some((name) => tag.findAttribute(name) !== undefined);

const isHtmlAnnotation = (tag: StartTag): boolean =>
  /^(?:text\/html|application\/xhtml\+xml)$/i.test(tag.readAttribute('encoding'));
