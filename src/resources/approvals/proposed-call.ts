import { createHash } from 'node:crypto';

/** A call that was checked against the contract. */
export interface ProposedCall {
  operationId: string;
  path: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  header: Readonly<Record<string, unknown>>;
  body: unknown;
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

export const readCall = (operationId: string, text: string): ProposedCall => ({
  ...(JSON.parse(text) as Omit<ProposedCall, 'operationId'>),
  operationId,
});

export const hashCall = (operationId: string, text: string): string =>
  createHash('sha256').update(`${operationId} ${text}`).digest('base64url');
