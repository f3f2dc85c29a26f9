import type { KeyObject } from 'node:crypto';
import type { FetchFault, SendAnswer } from '../../../platform/fetch/index.ts';
import type { World } from '../../../platform/world.ts';
import {
  AcmeFault,
  isNonce,
  readDirectory,
  readRefusal,
  readUrl,
  signRequest,
  bindExternalAccount,
  type Directory,
  type RawAnswer,
} from '../../../protocol/acme/index.ts';
import { findAccount, insertAccount, noteAccountUrl } from '../certificates/certificates.store.ts';
import { newAccountKey, openAccountKey } from '../certificates/certificates.ts';

export interface Answer extends RawAnswer {
  location: string | undefined;
}

interface SignedAsk {
  /** Name of the request in faults, such as "a new order". */
  what: string;
  url: string;
  /** Body of the request; undefined sends a POST-as-GET, which reads the URL. */
  payload?: unknown;
  key: KeyObject;
  account: string | undefined;
  accept?: string;
}

/** Client of one authority, with or without an account. Every error is an `AcmeFault`. */
export interface Authority {
  directory(): Promise<Directory>;
  /** Reads a public URL. */
  read(what: string, url: string): Promise<Answer>;
  /** Sends a signed request; throws if it is refused. Replaces nonces that the authority rejects. */
  ask(request: SignedAsk): Promise<Answer>;
}

type Headers = Extract<SendAnswer, { kind: 'answered' }>['headers'];

/** A chain is a few KiB. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** An authority may refuse nonces from before its restart, or some on purpose; one that accepts none is broken. */
const NONCES_MAX = 20;
const KEPT_MAX = 10;

export function createAuthority(world: World, directoryUrl: string, stopping: AbortSignal): Authority {
  let known: Directory | undefined;
  const nonces: string[] = [];

  async function exchange(what: string, text: string, body?: { text: string; accept: string }): Promise<Answer> {
    const url = new URL(readUrl(what, text));
    const stop = new AbortController();
    const end = (): void => stop.abort();
    const cancel = world.clock.timer(world.config.acme.answer_seconds * 1000, end);
    stopping.addEventListener('abort', end, { once: true });
    if (stopping.aborted) end();
    let left = ANSWER_BYTES_MAX;
    const limits = { signal: stop.signal, mayTake: (bytes: number) => (left -= bytes) >= 0 };
    try {
      const headers: Record<string, string> = body
        ? { 'content-type': 'application/jose+json', accept: body.accept }
        : { accept: 'application/json' };
      const method = body ? 'POST' : 'GET';
      const answer = await world.authority.send({ method, url, headers, body: body?.text }, limits);
      if (answer.kind === 'failed') throw new AcmeFault(`${what}: ${url.host} ${inWords(answer.fault)}`);
      keepNonce(answer.headers);
      return toAnswer(answer.status, answer.headers, answer.body);
    } finally {
      cancel();
      stopping.removeEventListener('abort', end);
    }
  }

  function keepNonce(headers: Headers): void {
    const nonce = headers['replay-nonce'];
    if (typeof nonce === 'string' && isNonce(nonce) && nonces.length < KEPT_MAX) nonces.push(nonce);
  }

  async function nextNonce(): Promise<string> {
    if (nonces.length === 0) {
      const { newNonce } = await authority.directory();
      const answer = await exchange('a new nonce', newNonce);
      if (answer.status >= 400) throw readRefusal('a new nonce', answer, world.clock.now());
    }
    const nonce = nonces.shift();
    if (nonce === undefined) throw new AcmeFault('the authority answers without a usable nonce');
    return nonce;
  }

  const authority: Authority = {
    async directory() {
      if (known) return known;
      return (known = readDirectory(await authority.read('the directory', directoryUrl)));
    },
    async read(what, url) {
      const answer = await exchange(what, url);
      if (answer.status !== 200) throw readRefusal(what, answer, world.clock.now());
      return answer;
    },
    async ask({ what, url, payload, key, account, accept = 'application/json' }) {
      for (let tries = 1; ; tries++) {
        const nonce = await nextNonce();
        const text = signRequest({ privateKey: key, account, nonce, url, payload });
        const answer = await exchange(what, url, { text, accept });
        if (answer.status >= 200 && answer.status < 300) return answer;
        const fault = readRefusal(what, answer, world.clock.now());
        if (fault.problem !== 'badNonce') throw fault;
        if (tries === NONCES_MAX) throw new AcmeFault(`${what}: the authority took none of ${NONCES_MAX} nonces`);
      }
    },
  };
  return authority;
}

const toAnswer = (status: number, headers: Headers, body: Buffer): Answer => ({
  status,
  body,
  location: headers.location,
  retryAfter: headers['retry-after'],
  contentType: headers['content-type'] ?? '',
});

function inWords(fault: FetchFault): string {
  switch (fault.kind) {
    case 'blocked':
      return 'has no address that may be reached; a private one has to stand in acme.allow_private';
    case 'unreachable':
      return 'cannot be reached';
    case 'tls':
      return `cannot be trusted (${fault.code})`;
    case 'too_large':
      return `answers more than ${ANSWER_BYTES_MAX} bytes`;
    case 'timeout':
      return 'does not answer in time';
    default:
      return `does not answer as it should (${fault.kind})`;
  }
}

export interface Account {
  id: string;
  key: KeyObject;
  url: string;
}

/**
 * Opens our account at the configured authority. Stores its key before the authority receives it: a process that is
 * killed in between repeats the request with the same key and gets the same account (RFC 8555 §7.3.1).
 */
export async function openAccount(world: World, authority: Authority): Promise<Account> {
  const { clock, config, db, ids } = world;
  const { directory, contact } = config.acme;
  const id = ids.uuid();
  let row = await findAccount(db, directory);
  if (!row) {
    const made = { directory, id, private_key: newAccountKey(world, id), url: null, created_at: clock.now() };
    await insertAccount(db, made);
    row = (await findAccount(db, directory)) ?? made;
  }
  const key = openAccountKey(world, row.private_key, row.id);
  if (row.url !== null) return { id: row.id, key, url: row.url };
  const { newAccount, needsExternalAccount } = await authority.directory();
  const payload = {
    termsOfServiceAgreed: true,
    ...(contact === '' ? {} : { contact: [`mailto:${contact}`] }),
    ...binding(world, { key, url: newAccount, isNeeded: needsExternalAccount }),
  };
  const answer = await authority.ask({ what: 'a new account', url: newAccount, payload, key, account: undefined });
  const url = readUrl('the location of the new account', answer.location);
  await noteAccountUrl(db, row.id, url);
  return { id: row.id, key, url };
}

function binding(
  { config }: World,
  { key, url, isNeeded }: { key: KeyObject; url: string; isNeeded: boolean },
): object {
  const { eab_key_id: keyId, eab_hmac_key: hmacKey } = config.acme;
  if (keyId !== '') {
    const external = { keyId, hmacKey: Buffer.from(hmacKey, 'base64url') };
    return { externalAccountBinding: bindExternalAccount(key, url, external) };
  }
  if (!isNeeded) return {};
  throw new AcmeFault(
    'the authority takes only accounts that are bound to one it gave out before; set acme.eab_key_id and acme.eab_hmac_key to what it shows there',
  );
}

/** Forgets the URL of an account that the authority no longer knows: the next try asks for one with the same key. */
export const forgetAccount = (world: World, { id }: Account): Promise<number> => noteAccountUrl(world.db, id, null);
