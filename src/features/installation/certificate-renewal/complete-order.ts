import { createPrivateKey, createHash } from 'node:crypto';
import { pause } from '../../../platform/clock.ts';
import type { World } from '../../../platform/world.ts';
import {
  AcmeFault,
  base64url,
  keyAuthorization,
  mediaType,
  readAuthorization,
  readChain,
  readOrder,
  readRetryAfter,
  readUrl,
  type Chain,
  type ChallengeType,
} from '../../../protocol/acme/index.ts';
import { certificateRequest } from '../../../protocol/x509.ts';
import {
  countOrder,
  noteOrder,
  putChallenge,
  forgetChallenge,
  strayProofs,
  listZoneProofs,
  type CertificateRow,
  type ChallengeRow,
} from '../certificates/certificates.store.ts';
import { newCertificateKey, openCertificateKey } from '../certificates/certificates.ts';
import type { Account, Answer, Authority } from './certificate-authority.ts';
import {
  missingProof,
  ProviderFault,
  putProof,
  removeProof,
  type ProofRecord,
} from '../../../mail/domain-dns/index.ts';

const ZONE_POLL_MS = 1000;
const ZONE_POLL_MS_MAX = 10_000;
/** Time limit for one check of a zone's name servers. */
const LOOK_MS = 10_000;

type Proof = Pick<ChallengeRow, 'name' | 'key_authorization'>;

/** RFC 8555 §8.4: the proof for a wildcard is at the name below the asterisk. */
const buildProofRecord = ({ name, key_authorization: authorization }: Proof): ProofRecord => ({
  name: `_acme-challenge.${name.replace(/^\*\./, '')}`,
  value: createHash('sha256').update(authorization).digest('base64url'),
});

/**
 * Writes the proof into the zone and waits until every reachable name server of the zone shows it: an authority that
 * checks earlier may cache its absence. The challenge is stored first, so that the proof is removed whatever happens.
 * Returns false if the signal aborts first.
 */
async function proveInZone(world: World, proof: Proof, signal: AbortSignal): Promise<boolean> {
  const { clock, config } = world;
  const record = buildProofRecord(proof);
  await faultsOfZone(() => putProof(world, config.acme.dns_provider, record));
  const until = clock.now() + config.acme.dns_seconds * 1000;
  for (let waitMs = ZONE_POLL_MS; ; waitMs = Math.min(2 * waitMs, ZONE_POLL_MS_MAX)) {
    const missing = await missingProof(world, record, AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]));
    if (missing?.length === 0) return true;
    if (signal.aborted) return false;
    if (clock.now() >= until) throw new AcmeFault(notSeen(world, record, missing));
    await pause(clock, waitMs, signal);
  }
}

function notSeen({ config }: World, { name }: ProofRecord, missing: readonly string[] | undefined): string {
  const who =
    missing === undefined ? `no name server of its zone answers for ${name}` : `${missing.join(', ')} does not show it`;
  return `the TXT record of ${name} was written, and ${who} after ${config.acme.dns_seconds} seconds (acme.dns_seconds)`;
}

async function faultsOfZone<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderFault ? new AcmeFault(error.message) : error;
  }
}

/** Removes the zone proofs of a certificate whose order has ended. */
export const removeProofs = async (world: World, certificateId: string): Promise<void> =>
  removeAll(world, await listZoneProofs(world.db, certificateId));

/**
 * Removes proofs that a process left, or that could not be removed: their orders are gone, or they are older than any
 * order.
 */
export const removeStrayProofs = async (world: World): Promise<void> =>
  removeAll(world, await strayProofs(world.db, world.clock.now()));

async function removeAll(world: World, rows: readonly ChallengeRow[]): Promise<void> {
  const { clock, config, db, log } = world;
  for (const row of rows) {
    const { name } = buildProofRecord(row);
    try {
      await removeProof(world, config.acme.dns_provider, buildProofRecord(row));
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error;
      const isGivenUp = clock.now() >= row.expires_at;
      const next = isGivenUp ? 'never: remove it by hand' : 'in a minute';
      log[isGivenUp ? 'error' : 'warn']({ name, reason: error.message, next }, 'a TXT record could not be removed');
      if (!isGivenUp) continue;
    }
    await forgetChallenge(db, row.token);
  }
}

export interface OrderInProgress {
  world: World;
  authority: Authority;
  account: Account;
  row: CertificateRow;
  /** Node that holds the lease. */
  owner: string;
  /** Aborted when the process is about to end, or the lease is lost. */
  signal: AbortSignal;
}

/** The order must wait; it has not failed. */
export class NotYet extends Error {
  override name = 'NotYet';
  readonly waitMs: number;
  constructor(waitMs: number, why: string) {
    super(why);
    this.waitMs = waitMs;
  }
}

const HOUR_MS = 3_600_000;
/** First delay between polls if the authority names none; it doubles each time. */
const POLL_MS = 250;
const POLL_MS_USUAL_MAX = 5000;
const POLL_MS_MAX = 30_000;
/** Number of polls in one turn; the order then waits a minute for its next turn. */
const POLLS_MAX = 30;
const NEXT_TURN_MS = 60_000;
const CHALLENGE_MS = 24 * HOUR_MS;

interface Order {
  url: string;
  /** Private key of the certificate, sealed. */
  key: string;
}

/**
 * Drives an order until its certificate is issued: the order in progress, or a new one. Stores its URL and key before
 * it asks the authority to issue, so that after a crash the issued certificate is fetched and never ordered again.
 */
export async function completeOrder(on: OrderInProgress): Promise<{ chain: Chain; sealedKey: string }> {
  const { row } = on;
  const known = row.order_url !== null && row.order_key !== null;
  const order = known ? { url: row.order_url ?? '', key: row.order_key ?? '' } : await placeOrder(on);
  try {
    return { chain: await followOrder(on, order), sealedKey: order.key };
  } catch (error) {
    if (error instanceof OrderOver) {
      await noteOrder(on.world.db, held(on), { url: null, key: null });
      // An order that ended while no process watched is replaced at once; one that fails now waits for its next try.
      if (known) return completeOrder({ ...on, row: { ...row, order_url: null, order_key: null } });
      throw error.fault;
    }
    throw error;
  }
}

export const held = ({ row, owner }: Pick<OrderInProgress, 'row' | 'owner'>) => ({
  id: row.id,
  names: row.names,
  owner,
});

class OrderOver extends Error {
  readonly fault: AcmeFault;
  constructor(fault: AcmeFault) {
    super(fault.message);
    this.fault = fault;
  }
}

const readNames = ({ names }: CertificateRow): string[] => names.split(' ');

async function placeOrder(on: OrderInProgress): Promise<Order> {
  const { world, authority, account, row } = on;
  const { config, clock, db } = world;
  const hour = Math.floor(clock.now() / HOUR_MS);
  if (!(await countOrder(db, account.id, { hour, ordersMax: config.acme.orders_per_hour })))
    throw new NotYet(
      (hour + 1) * HOUR_MS - clock.now(),
      `${config.acme.orders_per_hour} orders were made in this hour`,
    );
  const { newOrder } = await authority.directory();
  const identifiers = readNames(row).map((value) => ({ type: 'dns', value }));
  const answer = await ask(on, 'a new order', newOrder, { identifiers });
  const url = readUrl('the location of the new order', answer.location);
  // Renewals keep the key, so that a pin of it, such as DANE, stays valid.
  const keeps = row.private_key !== null && row.wants_new_key === 0;
  const key = keeps && row.private_key !== null ? row.private_key : newCertificateKey(world, row.id);
  if ((await noteOrder(db, held(on), { url, key })) === 0)
    throw new NotYet(0, 'other names are wanted, or another node has it');
  return { url, key };
}

async function followOrder(on: OrderInProgress, order: Order): Promise<Chain> {
  const { row, world } = on;
  const privateKey = createPrivateKey(openCertificateKey(world, order.key, row.id));
  const names = readNames(row);
  let isFinalized = false;
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    const answer = await readOwn(on, 'the order', order.url);
    const step = readOrder(answer, names);
    switch (step.kind) {
      case 'over':
        throw new OrderOver(step.fault);
      case 'prove':
        for (const url of step.authorizations) await prove(on, url);
        break;
      case 'finalize': {
        if (isFinalized) break;
        isFinalized = true;
        const csr = base64url(certificateRequest({ names, privateKey }));
        await finalize(on, step.url, csr);
        continue;
      }
      case 'download':
        return download(on, step.url, { names, privateKey, now: world.clock.now() });
      case 'wait':
        break;
    }
    if (step.kind !== 'prove') await waitFor(on, answer, polls);
  }
  throw new NotYet(NEXT_TURN_MS, 'the authority has not issued it yet');
}

/**
 * Finalizes the order. The request is refused if that was already done or the authority will not issue: the order says
 * which.
 */
async function finalize(on: OrderInProgress, url: string, csr: string): Promise<void> {
  try {
    await ask(on, 'finalizing the order', url, { csr });
  } catch (error) {
    if (!(error instanceof AcmeFault) || error.problem !== 'orderNotReady') throw error;
  }
}

/** The names of customers are in their zones: we write only into our own zone, and theirs point here. */
const chooseChallengeType = ({ world, row }: OrderInProgress): ChallengeType => {
  const { challenge } = world.config.acme;
  return challenge === 'dns-01' && row.kind !== 'host' ? 'http-01' : challenge;
};

async function prove(on: OrderInProgress, url: string): Promise<void> {
  const { account, row, world } = on;
  const kind = chooseChallengeType(on);
  let isAnswered = false;
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    const answer = await readOwn(on, 'an authorization', url);
    const authorization = readAuthorization(answer, kind);
    if (authorization.kind === 'valid') return;
    if (authorization.kind === 'failed') throw new OrderOver(authorization.fault);
    const { challenge, name } = authorization;
    if (!readNames(row).includes(name))
      throw new OrderOver(new AcmeFault(`the authority asks for a proof of ${name}, which is not ordered`));
    if (challenge.isPending && !isAnswered) {
      isAnswered = true;
      const proof = { name, key_authorization: keyAuthorization(challenge.token, account.key) };
      await putChallenge(world.db, {
        token: challenge.token,
        certificate_id: row.id,
        kind,
        ...proof,
        expires_at: world.clock.now() + CHALLENGE_MS,
      });
      if (kind === 'dns-01' && !(await proveInZone(world, proof, on.signal))) throw new NotYet(0, 'this process ends');
      await ask(on, `the proof of ${name}`, challenge.url, {});
      continue;
    }
    await waitFor(on, answer, polls);
  }
  throw new NotYet(NEXT_TURN_MS, 'the authority has not looked yet');
}

async function download(on: OrderInProgress, url: string, wishes: Parameters<typeof readChain>[1]): Promise<Chain> {
  const { account, authority } = on;
  const accept = 'application/pem-certificate-chain';
  const signed = { key: account.key, account: account.url, accept };
  const answer = await authority.ask({ what: 'the certificate', url, ...signed });
  if (mediaType(answer.contentType) !== accept)
    throw new AcmeFault(`the certificate comes as ${mediaType(answer.contentType)}, not as ${accept}`);
  try {
    return readChain(answer.body.toString('latin1'), wishes);
  } catch (error) {
    // Fetching the result of this order again would not improve it.
    throw error instanceof AcmeFault ? new OrderOver(error) : error;
  }
}

const ask = ({ authority, account }: OrderInProgress, what: string, url: string, payload: unknown): Promise<Answer> =>
  authority.ask({ what, url, payload, key: account.key, account: account.url });

/** Reads an order or authorization; a missing one is over, because authorities keep orders for some days. */
async function readOwn({ authority, account }: OrderInProgress, what: string, url: string): Promise<Answer> {
  try {
    return await authority.ask({ what, url, key: account.key, account: account.url });
  } catch (error) {
    if (error instanceof AcmeFault && GONE.has(error.problem)) throw new OrderOver(error);
    throw error;
  }
}

const GONE = new Set(['malformed', 'unauthorized']);

async function waitFor({ world, signal }: OrderInProgress, { retryAfter }: Answer, polls: number): Promise<void> {
  const usual = Math.min(POLL_MS_USUAL_MAX, POLL_MS * 2 ** polls);
  const asked = readRetryAfter(retryAfter, world.clock.now()) ?? usual;
  if (asked > POLL_MS_MAX) throw new NotYet(asked, 'the authority asks to come again later');
  await pause(world.clock, Math.max(POLL_MS, asked), signal);
  if (signal.aborted) throw new NotYet(0, 'this process ends');
}
