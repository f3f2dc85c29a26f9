import { repeat } from '../../../platform/clock.ts';
import { makeContext, type ShownContext } from '../../../platform/server-tls.ts';
import type { World } from '../../../platform/world.ts';
import { ACME_TLS, alpnCertificate } from '../../../protocol/acme/index.ts';
import { asksForCertificates, hostNames, readShown, type ShownCertificate } from '../certificates/certificates.ts';
import { challengeByName, challengeByToken, issuedVersions } from '../certificates/certificates.store.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';
import { readOwnHosts } from '../../../tenancy/instance/index.ts';

/** Issued certificates that this process presents. */
export interface Issued {
  /** Loads the certificates for the first time. */
  start(): Promise<void>;
  /** The certificate of this installation; undefined until there is one. */
  current(): ShownCertificate | undefined;
  /** Returns the context for a client that asks for this name; undefined for names that are not ours. */
  contextFor(name: string): Promise<ShownContext | undefined>;
  /** Calls the listener whenever this installation has a new certificate. */
  onChange(listener: () => void): void;
  stop(): void;
}

/** Interval of polling, because changes by other processes are not announced. */
const LOOK_MS = 10_000;
const CONTEXTS_MAX = 1000;

interface Known {
  id: string;
  version: number;
}

export function createIssued(world: World): Issued {
  const { clock, config, db, log } = world;
  const listeners = new Set<() => void>();
  const own = hostNames(config).slice(0, 1);
  let names = new Map<string, Known>();
  let current: (Known & { shown: ShownCertificate }) | undefined;
  const contexts = new BoundedMap<string, { version: number; context: Promise<ShownContext | undefined> }>(
    CONTEXTS_MAX,
  );
  const stops: (() => void)[] = [];
  let looking: Promise<void> = Promise.resolve();

  async function reload(): Promise<void> {
    try {
      const rows = await issuedVersions(db);
      names = new Map(rows.flatMap((row) => row.names.split(' ').map((name) => [name, row] as const)));
      // Right after a change of the host name, the certificate of the other name is used until there is a new one.
      const { all } = await readOwnHosts(world, db);
      const known = own
        .concat(all)
        .map((name) => names.get(name))
        .find((row) => row !== undefined);
      if (!known || (current?.id === known.id && current.version === known.version)) return;
      const shown = await readShown(world, known.id);
      if (!shown) return;
      // Throws if the certificate is unusable: the previous one stays.
      makeContext(shown);
      current = { id: known.id, version: known.version, shown };
      for (const listener of listeners) listener();
    } catch (error) {
      log.error({ err: error }, 'could not check for a new certificate; the previous one stays in use');
    }
  }

  const reloadInTurn = (): Promise<void> => (looking = looking.then(reload));

  return {
    async start() {
      if (!asksForCertificates(config)) return;
      await reloadInTurn();
      stops.push(
        repeat(clock, LOOK_MS, reloadInTurn),
        db.onCommit('certificates', () => void reloadInTurn()),
      );
    },
    current: () => current?.shown,
    contextFor(name) {
      const known = names.get(name.toLowerCase());
      if (!known) return Promise.resolve(undefined);
      const kept = contexts.get(known.id);
      if (kept?.version === known.version) return kept.context;
      const context = readShown(world, known.id).then((shown) => shown && makeContext(shown));
      contexts.set(known.id, { version: known.version, context });
      context.catch(() => contexts.delete(known.id));
      return context;
    },
    onChange: (listener) => void listeners.add(listener),
    stop: () => stops.forEach((stop) => stop()),
  };
}

/** Returns the `http-01` response for a token; undefined if no order waits for it. */
export const answerToToken = async ({ clock, db }: World, token: string): Promise<string | undefined> =>
  (await challengeByToken(db, token, clock.now()))?.key_authorization;

/** Returns the certificate that a `tls-alpn-01` request for a name is shown; undefined if no order waits for it. */
export async function contextForProof({ clock, db, ids }: World, name: string): Promise<ShownContext | undefined> {
  const challenge = await challengeByName(db, name, clock.now());
  if (!challenge) return undefined;
  const serial = Buffer.from(ids.uuid().replaceAll('-', ''), 'hex').subarray(0, 15);
  const authorization = challenge.key_authorization;
  return makeContext(alpnCertificate({ name, authorization, now: clock.now(), serial }));
}

export const PROOF_PROTOCOL = ACME_TLS;
