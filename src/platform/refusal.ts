/**
 * Errors of the caller. A Refusal has a name from the error catalog, the text the caller may read (`say`) and,
 * separate from it, the cause for the log (`because`). It is never used for external failures or for our own bugs.
 */
import { errorCatalogue, type ErrorName } from '../contract/index.ts';

export interface FieldFault {
  path: string;
  message: string;
}

export interface RefusalText {
  say: string;
  /** Required only if the catalog lists several statuses under one name. */
  status?: number;
  errors?: FieldFault[];
  because?: unknown;
  retryAfterSeconds?: number;
  /** For a domain name that another team has verified: it can be claimed. */
  claimable?: boolean;
  /** Only if the contract declares details for this name and status. */
  details?: Record<string, unknown>;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly errorName: ErrorName;
  readonly status: number;
  readonly errors: FieldFault[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly claimable: boolean | undefined;
  readonly details: Record<string, unknown> | undefined;
  /** Set only for the missing User-Agent (1010). */
  code: number | undefined;

  constructor(name: ErrorName, text: RefusalText) {
    super(text.say, text.because === undefined ? undefined : { cause: text.because });
    const statuses: readonly number[] = errorCatalogue[name];
    const status = text.status ?? statuses[0];
    if (status === undefined || !statuses.includes(status)) {
      throw new Error(`the catalog has no ${name} with status ${status}`);
    }
    this.errorName = name;
    this.status = status;
    this.errors = text.errors;
    this.retryAfterSeconds = text.retryAfterSeconds;
    this.claimable = text.claimable;
    this.details = text.details;
  }
}

export const refuse = (name: ErrorName, text: RefusalText): Refusal => new Refusal(name, text);

/** A missing object and one of another team look the same on purpose: anything else would reveal that the id exists. */
export const notFound = (what: string): Refusal => new Refusal('not_found', { say: `${what} not found.` });

/** Refuses a value, with the path of its field. */
export const invalidField = (path: string, say: string): Refusal =>
  new Refusal('invalid_parameter', { say, errors: [{ path, message: say }] });

/** Refuses a body whose fields have wrong values: one entry per field. */
export function invalidFields(errors: FieldFault[]): Refusal {
  const first = errors[0];
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new Refusal('validation_error', {
    status: 400,
    say: first ? first.message + more : 'The request body is not valid.',
    errors,
  });
}
