import { fieldsIn, readFields, readUrl, type RawAnswer } from './read-answer.ts';

/** Where an authority is asked what (RFC 8555 §7.1.1). */
export interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  /** Where it says when a certificate should be renewed (RFC 9773); undefined where it does not. */
  renewalInfo: string | undefined;
  /** It takes only accounts that are bound to one that it gave out before. */
  needsExternalAccount: boolean;
}

/** The names by which the authority is known in CAA records (RFC 8555 §9.7.6); none where it says none. */
export function caaIdentities(body: Buffer): string[] {
  try {
    const names = fieldsIn(fieldsIn(JSON.parse(body.toString('utf8'))).meta).caaIdentities;
    const isName = (name: unknown): name is string => typeof name === 'string' && /^[a-z0-9.-]{1,253}$/i.test(name);
    return Array.isArray(names) ? (names as unknown[]).filter(isName).slice(0, 10) : [];
  } catch {
    return [];
  }
}

export function readDirectory(answer: RawAnswer): Directory {
  const fields = readFields('the directory', answer);
  const at = (name: string): string => readUrl(`${name} of the directory`, fields[name]);
  return {
    newNonce: at('newNonce'),
    newAccount: at('newAccount'),
    newOrder: at('newOrder'),
    renewalInfo: fields.renewalInfo === undefined ? undefined : at('renewalInfo'),
    needsExternalAccount: fieldsIn(fields.meta).externalAccountRequired === true,
  };
}
