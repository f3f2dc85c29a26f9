import { refuse } from '../../platform/refusal/index.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';

const ADMINS_MAX = 20;

/** Who is told of what concerns the team: bare addresses, each once. None is possible: then only the log is told. */
export function readAdminEmails(texts: readonly string[]): string[] {
  const addresses = new Map<string, string>();
  for (const text of texts) {
    const parsed = parseMailbox(text);
    if (!parsed.ok) throw unusable(`The admin address ${JSON.stringify(text.slice(0, 320))}: ${parsed.fault}`);
    const { address, name } = parsed.mailbox;
    if (name !== '') throw unusable(`The admin address ${JSON.stringify(text.slice(0, 320))} must be without a name.`);
    const key = normalizeAddress(address);
    if (!addresses.has(key)) addresses.set(key, address);
  }
  if (addresses.size <= ADMINS_MAX) return [...addresses.values()];
  throw unusable(`A team has at most ${ADMINS_MAX} admin addresses; got ${addresses.size}.`);
}

const unusable = (say: string) => refuse('validation_error', { status: 422, say });
