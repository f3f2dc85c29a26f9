import { createHash } from 'node:crypto';

/** A call that was checked against the contract. */
export interface ProposedCall {
  operationId: string;
  path: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  header: Readonly<Record<string, unknown>>;
  body: unknown;
}

/** A file that a call names by its URL, as it was when the call came. */
export interface HeldFile {
  /** Where it stands in the body, such as `attachments.0`. */
  field: string;
  url: string;
  bytes: number;
  /** SHA-256 in hexadecimal. */
  sha256: string;
}

/** A call with its files fetched. */
export interface FilledCall {
  files: readonly HeldFile[];
  /** The same with the contents in the place of the URLs: what was looked at is what is sent. */
  call: ProposedCall;
}

/** The header that makes a repeated call the same one. */
const KEY = 'idempotency-key';

export const keyOf = ({ header }: ProposedCall): string | undefined =>
  typeof header[KEY] === 'string' ? header[KEY] : undefined;

/** Of the headers the ones that the operation reads: the others differ from call to call. */
const READ = [KEY, 'x-batch-validation'];

export const callText = ({ path, query, header, body }: ProposedCall): string =>
  JSON.stringify({ path, query, header: Object.fromEntries(READ.flatMap((name) => pairIn(header, name))), body });

const pairIn = (header: Readonly<Record<string, unknown>>, name: string): [string, unknown][] =>
  header[name] === undefined ? [] : [[name, header[name]]];

/** How a call is kept, with what its files were. */
export const heldText = (text: string, files: readonly HeldFile[]): string =>
  files.length === 0 ? text : JSON.stringify({ ...(JSON.parse(text) as object), files });

export function readCall(operationId: string, text: string): { call: ProposedCall; files: readonly HeldFile[] } {
  const { files = [], ...call } = JSON.parse(text) as Omit<ProposedCall, 'operationId'> & { files?: HeldFile[] };
  return { call: { ...call, operationId }, files };
}

export const hashCall = (operationId: string, text: string): string =>
  createHash('sha256').update(`${operationId} ${text}`).digest('base64url');
