import type { Executor } from '../../../platform/db/index.ts';
import { refuse, type Refusal } from '../../../platform/refusal/index.ts';
import type { ConnectionType, RuleContact } from '../automations/index.ts';
import type { PropertyRow } from '../../audience/contact-properties/index.ts';
import { valuesOf, type ContactRow } from '../../audience/contacts/index.ts';

/** What a step comes to: what it writes in the transaction that moves the run on, or until when the run waits. */
export interface Taken {
  waitsUntil?: number;
  /** The branch of a condition. */
  way?: ConnectionType;
  output?: object;
  /** Answers the output, where only writing says it. */
  work?(tx: Executor): Promise<object | undefined>;
  /** Behind the commit. */
  afterwards?(): void;
  hasMail?: true;
}

/** What keeps a step from being taken passes by itself: it is tried again. */
export class Postponed extends Error {
  readonly until: number;
  /** For the step of the run, where its team reads why nothing moves. */
  readonly reason: string;

  constructor(until: number, reason: string) {
    super('the step is tried again later');
    this.until = until;
    this.reason = reason;
  }
}

export function fieldsOf(contact: ContactRow, declared: readonly PropertyRow[]): RuleContact {
  const values = valuesOf(contact);
  const own: Record<string, string | boolean | null> = {
    ...{ email: contact.email, first_name: contact.first_name, last_name: contact.last_name },
    unsubscribed: contact.unsubscribed === 1,
  };
  return (field) => {
    if (Object.hasOwn(own, field)) return own[field] ?? null;
    const property = declared.find(({ key }) => `properties.${key}` === field || key === field);
    return property && (values[property.slot] ?? null);
  };
}

export const gone = (what: string): Refusal =>
  refuse('validation_error', { status: 422, say: `The ${what} does not exist any more.` });
