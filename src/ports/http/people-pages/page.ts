import type { AnswerOf, CallOf, ValueId } from '../../../contract/index.ts';
import { refuse, type Refusal } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import type { Actor, Browser, Identity } from '../../../tenancy/access/index.ts';

/** The fields of a form or a query. Each occurs once. */
export type Fields = ReadonlyMap<string, string>;

export const FORM_BYTES_MAX = 64 * 1024;

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/** Reads a form. An empty body is a form without fields, whatever its type; any other type is refused. */
export function readForm(bytes: Buffer | undefined, contentType: string | undefined): Fields {
  if (bytes === undefined || bytes.length === 0) return new Map();
  if (!FORM.test(contentType ?? '')) throw badForm('This form must be sent as application/x-www-form-urlencoded.');
  return readFields(bytes.toString('utf8'), 'This form');
}

/** Refuses a field that occurs twice, because the intended value is unknown; bytes that are not UTF-8 become U+FFFD. */
export function readFields(text: string, what = 'This address'): Fields {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw badForm(`${what} contains ${JSON.stringify(name.slice(0, 50))} more than once.`);
    if (name.includes('\uFFFD') || value.includes('\uFFFD')) throw badForm(`${what} is not valid UTF-8.`);
    fields.set(name, value);
  }
  return fields;
}

const badForm = (say: string) => refuse('validation_error', { status: 400, say });

export type SignedIn = Identity<Extract<Actor, { kind: 'session' }>>;

/** The context of a page: the browser that requests it, and the person's session if they are signed in. */
export interface PageCtx {
  store: World;
  browser: Browser;
  requestId: string;
  session: SignedIn | undefined;
  /**
   * Calls an operation of the API as this person. As over HTTP, the call is checked against the contract, has the rights
   * of their session and is recorded in the audit log. Throws the refusal of the operation. A GET may only call reads.
   */
  call<Id extends ValueId>(id: Id, call: CallOf<Id>): Promise<AnswerOf<Id>>;
  /** Returns the reason why this person may not call an operation; undefined if they may. */
  findRefusal(operationId: string): Refusal | undefined;
}

/** A request for a page. */
export interface Visit {
  /** Path and query, as received. */
  target: string;
  query: Fields;
  /** Empty for a GET. */
  form: Fields;
}

/** A page to show; `content` is the HTML below its heading. */
export interface Shown {
  title: string;
  /** HTML of the heading, if it differs from the title. Only HTML can isolate text of untrusted senders. */
  heading?: string;
  content: string;
  /** 200 by default. */
  status?: number;
  /** The title mentions the failure too, because screen readers read it first. */
  isFault?: boolean;
  retryAfterSeconds?: number | undefined;
  /**
   * Origins or schemes to which a form of this page may lead in the end, besides this service: browsers check redirects
   * as well.
   */
  formsLeadTo?: readonly string[];
}

/** A 303 redirect, to a path of this service or to an address that was checked. */
export interface Redirect {
  to: string;
}

export type PageHandler<Ctx extends PageCtx = PageCtx> = (ctx: Ctx, visit: Visit) => Promise<Shown | Redirect>;

/** A page at a fixed path. Each is listed in `peoplePages` (`serve.ts`). */
export interface PeoplePage {
  path: string;
  /** Must not change anything, because virus scanners open every link in a mail. */
  get: PageHandler;
  /** Accepted only from a page of this service. */
  post?: PageHandler;
}
