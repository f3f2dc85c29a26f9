import { CliFault } from '../output/cli-fault.ts';

/** A filter of contacts, as the API takes it. */
export type Where =
  | { all: Where[] }
  | { any: Where[] }
  | { not: Where[] }
  | { field: string; op: string; value: unknown }
  | { topic: string; subscription: string }
  | { engagement: string; broadcast?: string; link?: string; within_days?: number }
  | { event: string; within_days?: number }
  | { segment: string };

const ENGAGEMENTS = ['sent', 'delivered', 'opened', 'clicked'];
const LINK = /^(?:[a-z][a-z0-9+.-]*:\/\/|mailto:|tel:)/i;
const DAYS = /^(\d{1,4})d$/i;
const DAYS_MAX = 3650;

const OPS: Readonly<Record<string, string>> = {
  '=': 'eq',
  '==': 'eq',
  '!=': 'neq',
  '<>': 'neq',
  '>': 'gt',
  '>=': 'gte',
  '<': 'lt',
  '<=': 'lte',
  is: 'eq',
  contains: 'contains',
  in: 'in',
};

interface Token {
  text: string;
  /** The position where it begins. */
  at: number;
  kind: 'word' | 'quoted' | 'sign' | 'end';
}

const TOKEN = /\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(<=|>=|<>|!=|==|[=<>(),])|([^\s"'=<>!(),]+))/y;

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    const at = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
    if (!found) throw new WhereFault(at, 'unexpected character; close a quote, or use one of = != > >= < <=');
    const [, double, single, sign, word = ''] = found;
    const quoted = double ?? single;
    if (quoted !== undefined) tokens.push({ text: quoted.replaceAll(/\\(.)/g, '$1'), at, kind: 'quoted' });
    else tokens.push({ text: sign ?? word, at, kind: sign === undefined ? 'word' : 'sign' });
  }
  return [...tokens, { text: '', at: text.trimEnd().length, kind: 'end' }];
}

/** A fault and its position; the caller knows the name of the text. */
class WhereFault extends Error {
  readonly at: number;

  constructor(at: number, says: string) {
    super(says);
    this.at = at;
  }
}

/**
 * Parses `properties.plan = pro and not (unsubscribed = true or email contains "@example.org")`: conditions with and,
 * or, not and parentheses. Conditions without an operator are `opened(november)`, `clicked within 30d`, `inactive for
 * 90d`, `event(paid) within 7d` and `in segment(customers)`. A quoted value is a text; true, false and numbers have their own types. A fault uses the
 * name that the text has where it was typed.
 */
export function readWhere(text: string, called = '--where'): Where {
  try {
    const where = new Parser(text).readAll();
    return 'all' in where || 'any' in where || 'not' in where ? where : { all: [where] };
  } catch (error) {
    if (!(error instanceof WhereFault)) throw error;
    const { at, message } = error;
    // A form shows the text itself.
    const where = called.startsWith('--') ? `\n  ${text}\n  ${' '.repeat(at)}^` : '';
    throw new CliFault(`${called}, at character ${at + 1}: ${message}${where}`, 'usage');
  }
}

/** Begins like an object of JSON: no condition does. */
export const isWords = (text: string): boolean => !/^\s*[{[]/.test(text);

class Parser {
  readonly #tokens: Token[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  readAll(): Where {
    const where = this.#either();
    if (this.#peek().kind !== 'end') throw this.#expected('and, or, or the end of the condition');
    return where;
  }

  #either(): Where {
    const parts = [this.#both()];
    while (this.#takes('or')) parts.push(this.#both());
    return parts.length === 1 ? (parts[0] as Where) : { any: parts };
  }

  #both(): Where {
    const parts = [this.#one()];
    while (this.#takes('and')) parts.push(this.#one());
    return parts.length === 1 ? (parts[0] as Where) : { all: parts };
  }

  #one(): Where {
    if (this.#takes('not')) {
      const inner = this.#one();
      return { not: 'any' in inner ? inner.any : [inner] };
    }
    if (!this.#takes('(')) return this.#condition();
    const where = this.#either();
    this.#must(')');
    return where;
  }

  #condition(): Where {
    const { kind, text: field } = this.#peek();
    if (kind !== 'word') throw this.#expected('a field, such as email or properties.plan');
    this.#next++;
    const word = field.toLowerCase();
    if (word === 'topic') return this.#topic();
    if (ENGAGEMENTS.includes(word)) return this.#engagement(word);
    if (word === 'inactive') return { engagement: word, within_days: this.#days('for') };
    if (word === 'event') {
      const event = this.#argument('the name of an event');
      return { event, ...this.#within() };
    }
    if (word === 'in') {
      this.#must('segment');
      return { segment: this.#argument('the name of a segment') };
    }
    if (this.#takes('exists')) return { field, op: 'exists', value: true };
    const sign = this.#peek();
    const op = sign.kind === 'quoted' ? undefined : OPS[sign.text.toLowerCase()];
    if (op === undefined) throw this.#expected('= != > >= < <= contains, in or exists');
    this.#next++;
    return { field, op, value: op === 'in' ? this.#values() : this.#value() };
  }

  #topic(): Where {
    const topic = String(this.#raw('the name of a topic'));
    this.#must('=');
    const at = this.#peek();
    const subscription = this.#raw('opt_in or opt_out');
    if (subscription === 'opt_in' || subscription === 'opt_out') return { topic, subscription };
    throw new WhereFault(at.at, 'opt_in or opt_out is expected here');
  }

  /** Reads what follows `opened`: perhaps a broadcast or a link in parentheses, and perhaps a number of days. */
  #engagement(engagement: string): Where {
    const named: { broadcast?: string; link?: string } = {};
    if (this.#takes('(')) {
      do {
        const { at } = this.#peek();
        const text = this.#raw(engagement === 'clicked' ? 'a broadcast or a link' : 'a broadcast');
        const key = LINK.test(text) ? 'link' : 'broadcast';
        if (key === 'link' && engagement !== 'clicked') throw new WhereFault(at, 'only clicked takes a link');
        if (named[key] !== undefined) throw new WhereFault(at, `one ${key} is enough here`);
        named[key] = text;
      } while (this.#takes(','));
      this.#must(')');
    }
    const { kind, text, at } = this.#peek();
    if (kind === 'sign' && text in OPS)
      throw new WhereFault(at, `${engagement} takes no operator; write ${engagement}(november) for a broadcast`);
    const within = this.#within();
    if (within.within_days !== undefined && named.broadcast !== undefined)
      throw new WhereFault(at, 'within cannot follow a broadcast, whose report has no times');
    return { engagement, ...named, ...within };
  }

  #within = (): { within_days?: number } =>
    this.#peek().kind === 'word' && this.#peek().text.toLowerCase() === 'within'
      ? { within_days: this.#days('within') }
      : {};

  #days(word: string): number {
    this.#must(word);
    const { at } = this.#peek();
    const [, digits] = DAYS.exec(this.#raw('a number of days such as 30d')) ?? [];
    const days = Number(digits);
    if (days >= 1 && days <= DAYS_MAX) return days;
    throw new WhereFault(at, `a number of days from 1d to ${DAYS_MAX}d is expected here`);
  }

  #argument(what: string): string {
    this.#must('(');
    const text = this.#raw(what);
    this.#must(')');
    return text;
  }

  #values(): unknown[] {
    this.#must('(');
    const values = [this.#value()];
    while (this.#takes(',')) values.push(this.#value());
    this.#must(')');
    return values;
  }

  #value(): unknown {
    const isQuoted = this.#peek().kind === 'quoted';
    const text = this.#raw('a value');
    if (isQuoted) return text;
    if (text === 'true' || text === 'false') return text === 'true';
    return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
  }

  #raw(what: string): string {
    const { kind, text } = this.#peek();
    if (kind !== 'word' && kind !== 'quoted') throw this.#expected(what);
    this.#next++;
    return text;
  }

  #peek = (): Token => this.#tokens[this.#next] as Token;

  #takes(word: string): boolean {
    const { kind, text } = this.#peek();
    if (kind === 'quoted' || text.toLowerCase() !== word) return false;
    this.#next++;
    return true;
  }

  #must(word: string): void {
    if (!this.#takes(word)) throw this.#expected(word);
  }

  #expected(what: string): WhereFault {
    const { at, kind, text } = this.#peek();
    return new WhereFault(at, `${what} is expected here${kind === 'end' ? '' : `, not ${JSON.stringify(text)}`}`);
  }
}
