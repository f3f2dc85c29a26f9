import {
  createHash,
  createHmac,
  createPublicKey,
  randomBytes,
  verify,
  X509Certificate,
  type JsonWebKey,
} from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { makeCertificateAuthority, type CertificateAuthority, type IssueWishes } from './certificate-authority.ts';
import { makeCertificate } from './tls.ts';

export interface Plays {
  /** Refuses that many valid nonces. */
  badNonces: number;
  /** Answers instead, by the first part of the path; undefined passes the request on. */
  instead: (route: string, response: http.ServerResponse) => boolean;
  issue: IssueWishes;
  /** The names of the authority in CAA records; none publishes no name. */
  caaIdentities: readonly string[];
  /** If set, accounts must be bound to this one. */
  external: { keyId: string; hmacKey: Buffer } | undefined;
  /** Replaces the chain that is handed out. */
  chain: ((chain: string) => string) | undefined;
  /** Number of times an order is reported as processing. */
  processing: number;
  /** Awaited once an order was finalized, before the answer. */
  finalized: () => Promise<void> | void;
  /** Awaited once a name was validated, before the answer. */
  proven: () => Promise<void> | void;
  /** The window of the renewal information; undefined means none. */
  renewal: { start: string; end: string } | undefined;
}

export interface AcmeServer {
  directory: string;
  /** Certificates in PEM that a client has to trust to connect. */
  trust: readonly string[];
  authority: CertificateAuthority;
  plays: Plays;
  /** Client errors against RFC 8555. */
  violations: string[];
  /** Names of every order, and of finalized ones. */
  ordered: string[];
  finalized: string[];
  accounts: number;
  /** Ports at which names are validated, whatever their DNS says. */
  look: { httpPort: number; tlsPort: number };
  /** Returns the TXT records of a name, as its zone shows them. */
  readonly zone: { txt: (name: string) => readonly string[] };
  close(): Promise<void>;
}

interface Order {
  id: number;
  account: string;
  names: string[];
  status: string;
  error?: object;
  chain?: string;
  polls: number;
}

interface Proof {
  name: string;
  status: string;
  token: string;
  error?: object;
  order: Order;
}

interface Signed {
  key: JsonWebKey;
  account: string;
  payload: Record<string, unknown> | undefined;
}

class Refused extends Error {
  readonly type: string;
  readonly status: number;
  constructor(type: string, detail: string, status = 400) {
    super(detail);
    this.type = type;
    this.status = status;
  }
}

interface Request {
  path: string;
  route: string;
  id: string;
  signed: Signed;
  accept: string | undefined;
  response: http.ServerResponse;
}

/** The state of the authority, and its handling of correctly signed requests. */
class Authority {
  readonly violations: string[] = [];
  readonly ordered: string[] = [];
  readonly finalized: string[] = [];
  readonly accounts = new Map<string, JsonWebKey>();
  readonly nonces = new Set<string>();
  readonly authority = makeCertificateAuthority();
  readonly look = { httpPort: 0, tlsPort: 0 };
  readonly zone: AcmeServer['zone'] = { txt: () => [] };
  readonly plays: Plays = {
    badNonces: 0,
    processing: 0,
    chain: undefined,
    external: undefined,
    renewal: undefined,
    caaIdentities: [],
    instead: () => false,
    issue: { days: 90 },
    finalized: () => undefined,
    proven: () => undefined,
  };
  base = '';
  private readonly orders: Order[] = [];
  private readonly proofs: Proof[] = [];

  reply(response: http.ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
    const nonce = randomBytes(16).toString('base64url');
    this.nonces.add(nonce);
    const usual = { 'content-type': 'application/json', 'replay-nonce': nonce, 'cache-control': 'no-store' };
    response.writeHead(status, { ...usual, ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  wrong(says: string): Refused {
    this.violations.push(says);
    return new Refused('malformed', says);
  }

  /** Answers requests without a signature. */
  read(route: string, response: http.ServerResponse): void {
    const { base, plays } = this;
    if (route === 'nonce') return this.reply(response, 204, '');
    if (route === 'ari' && plays.renewal) return this.reply(response, 200, { suggestedWindow: plays.renewal });
    if (route !== 'dir') throw new Refused('malformed', `nothing to read at ${route}`, 405);
    const { caaIdentities, external } = plays;
    const meta = {
      ...(caaIdentities.length > 0 ? { caaIdentities } : {}),
      ...(external ? { externalAccountRequired: true } : {}),
    };
    const urls = { newNonce: `${base}/nonce`, newAccount: `${base}/acct`, newOrder: `${base}/order`, meta };
    this.reply(response, 200, { ...urls, ...(plays.renewal ? { renewalInfo: `${base}/ari` } : {}) });
  }

  async answer(request: Request): Promise<void> {
    const { route, id, signed, response } = request;
    if (route === 'acct') return this.newAccount(signed, response);
    if (route === 'order' && id === '') return this.newOrder(signed, response);
    if (route === 'authz' || route === 'chall') return this.answerProof(request);
    const order = this.orders[Number(id)];
    if (!order || order.account !== signed.account) throw new Refused('malformed', 'no such order', 404);
    if (route === 'order') return this.reply(response, 200, this.presentOrder(order), { 'retry-after': '1' });
    if (route === 'finalize') return this.finalize(order, signed, response);
    if (route !== 'cert' || order.chain === undefined) throw new Refused('malformed', 'nothing there', 404);
    if (request.accept !== CHAIN) throw this.wrong('accept');
    this.reply(response, 200, this.plays.chain?.(order.chain) ?? order.chain, { 'content-type': CHAIN });
  }

  private newAccount({ key, payload }: Signed, response: http.ServerResponse): void {
    if (payload?.termsOfServiceAgreed !== true) throw new Refused('userActionRequired', 'agree to the terms');
    const { external } = this.plays;
    if (external) this.mustBeBound(external, key, payload.externalAccountBinding);
    const print = createHash('sha256').update(JSON.stringify(key)).digest('base64url');
    const location = `${this.base}/acct/${print}`;
    const status = this.accounts.has(location) ? 200 : 201;
    this.accounts.set(location, key);
    this.reply(response, status, { status: 'valid' }, { location });
  }

  /** RFC 8555 §7.3.4: checks the JWS of the external account binding. */
  private mustBeBound(external: NonNullable<Plays['external']>, key: JsonWebKey, given: unknown): void {
    if (given === undefined) throw new Refused('externalAccountRequired', 'bind the account');
    const jws = given as Record<string, string>;
    if (Object.keys(jws).toSorted().join() !== 'payload,protected,signature') throw this.wrong('fields of the binding');
    const read = (text = ''): unknown => JSON.parse(Buffer.from(text, 'base64url').toString());
    const wanted = { alg: 'HS256', kid: external.keyId, url: `${this.base}/acct` };
    if (!isDeepStrictEqual(read(jws.protected), wanted)) throw new Refused('unauthorized', 'head of the binding');
    if (!isDeepStrictEqual(read(jws.payload), { ...key })) throw this.wrong('key of the binding');
    const mac = createHmac('sha256', external.hmacKey).update(`${jws.protected}.${jws.payload}`).digest('base64url');
    if (mac !== jws.signature) throw new Refused('unauthorized', 'the binding has another HMAC', 403);
  }

  private newOrder({ account, payload = {} }: Signed, response: http.ServerResponse): void {
    const names = (payload.identifiers as { value: string }[]).map(({ value }) => value);
    const polls = this.plays.processing;
    const order: Order = { id: this.orders.length, account, names, status: 'pending', polls };
    this.orders.push(order);
    this.ordered.push(names.join(' '));
    for (const name of names)
      this.proofs.push({ name, status: 'pending', token: randomBytes(24).toString('base64url'), order });
    this.reply(response, 201, this.presentOrder(order), { location: `${this.base}/order/${order.id}` });
  }

  private presentOrder(order: Order): object {
    const own = this.proofs.filter((proof) => proof.order === order);
    if (order.status === 'pending' && own.every(({ status }) => status === 'valid')) order.status = 'ready';
    if (order.status === 'pending' && own.some(({ status }) => status === 'invalid')) {
      order.status = 'invalid';
      order.error = own.find(({ error }) => error)?.error ?? {};
    }
    if (order.status === 'processing' && order.polls-- <= 0) order.status = 'valid';
    return {
      status: order.status,
      identifiers: order.names.map((value) => ({ type: 'dns', value })),
      authorizations: own.map((proof) => `${this.base}/authz/${this.proofs.indexOf(proof)}`),
      finalize: `${this.base}/finalize/${order.id}`,
      ...(order.error ? { error: order.error } : {}),
      ...(order.status === 'valid' ? { certificate: `${this.base}/cert/${order.id}` } : {}),
    };
  }

  private async answerProof({ path, route, id, signed, response }: Request): Promise<void> {
    const proof = this.proofs[Number(id)];
    if (!proof || proof.order.account !== signed.account) throw new Refused('unauthorized', 'of another account', 403);
    const chosen = path.split('/')[3] ?? '';
    if (route === 'chall') await this.lookAt(proof, chosen, signed);
    const buildChallenge = (type: string): object => ({
      type,
      token: proof.token,
      status: proof.status,
      url: `${this.base}/chall/${id}/${type}`,
      ...(proof.error ? { error: proof.error } : {}),
    });
    if (route === 'chall') return this.reply(response, 200, buildChallenge(chosen));
    const isWildcard = proof.name.startsWith('*.');
    this.reply(response, 200, {
      status: proof.status,
      identifier: { type: 'dns', value: bare(proof.name) },
      ...(isWildcard ? { wildcard: true } : {}),
      challenges: (isWildcard ? ['dns-01'] : ['dns-01', 'tls-alpn-01', 'http-01']).map(buildChallenge),
    });
  }

  private async lookAt(proof: Proof, chosen: string, { key, payload }: Signed): Promise<void> {
    if (payload === undefined || Object.keys(payload).length > 0) throw this.wrong('a challenge is begun with {}');
    const { crv, kty, x, y } = key;
    const print = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
    const wanted = `${proof.token}.${print}`;
    const { tlsPort, httpPort } = this.look;
    const looks: Record<string, () => Promise<string> | string> = {
      'dns-01': () => lookInZone(this.zone.txt(`_acme-challenge.${bare(proof.name)}`), wanted),
      'tls-alpn-01': () => lookByTls(proof.name, wanted, tlsPort),
      'http-01': () => lookByHttp(proof, httpPort),
    };
    const found = (await looks[chosen]?.()) ?? `nothing that proves by ${chosen}`;
    proof.status = found === wanted ? 'valid' : 'invalid';
    await this.plays.proven();
    if (found === wanted) return;
    const detail = `${proof.name} answers ${found.slice(0, 40)}`;
    proof.error = { type: 'urn:ietf:params:acme:error:unauthorized', detail };
  }

  private async finalize(order: Order, { payload }: Signed, response: http.ServerResponse): Promise<void> {
    this.presentOrder(order);
    if (order.status !== 'ready') throw new Refused('orderNotReady', `the order is ${order.status}`, 403);
    const csr = Buffer.from(String(payload?.csr), 'base64url');
    if (this.authority.namesIn(csr).join() !== order.names.toSorted().join()) throw this.wrong('names of the request');
    order.chain = this.authority.issue(csr, this.plays.issue);
    order.status = 'processing';
    this.finalized.push(order.names.join(' '));
    await this.plays.finalized();
    this.reply(response, 200, this.presentOrder(order));
  }
}

const bare = (name: string): string => name.replace(/^\*\./, '');

/** RFC 8555 §8.4: one of the records is the digest of the key authorization. */
const lookInZone = (records: readonly string[], wanted: string): string =>
  records.includes(createHash('sha256').update(wanted).digest('base64url')) ? wanted : records.join(' ');

const CHAIN = 'application/pem-certificate-chain';

/** Checks all requirements of RFC 8555 §6 for a request. */
async function readSigned(on: Authority, request: http.IncomingMessage): Promise<Signed> {
  const body = JSON.parse(await text(request)) as Record<string, string>;
  if (request.headers['content-type'] !== 'application/jose+json') throw on.wrong('content type');
  if (Object.keys(body).toSorted().join() !== 'payload,protected,signature') throw on.wrong('fields of the JWS');
  const head = JSON.parse(Buffer.from(body.protected ?? '', 'base64url').toString()) as {
    alg: string;
    nonce: string;
    url: string;
    jwk?: JsonWebKey;
    kid?: string;
  };
  const isNew = request.url === '/acct';
  if (head.alg !== 'ES256') throw on.wrong(`alg ${head.alg}`);
  if (head.url !== on.base + request.url) throw on.wrong(`url ${head.url} at ${request.url}`);
  if ((head.jwk !== undefined) !== isNew || (head.kid !== undefined) === isNew) throw on.wrong('jwk and kid');
  if (!on.nonces.delete(head.nonce)) throw new Refused('badNonce', 'an unknown nonce');
  if (on.plays.badNonces > 0) {
    on.plays.badNonces--;
    throw new Refused('badNonce', 'refused on purpose');
  }
  const key = head.jwk ?? on.accounts.get(head.kid ?? '');
  if (!key) throw new Refused('accountDoesNotExist', 'no such account');
  const bytes = Buffer.from(`${body.protected}.${body.payload}`);
  const signature = Buffer.from(body.signature ?? '', 'base64url');
  const publicKey = createPublicKey({ key, format: 'jwk' });
  if (!verify('sha256', bytes, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)) throw on.wrong('signature');
  const payload: unknown =
    body.payload === '' ? undefined : JSON.parse(Buffer.from(body.payload ?? '', 'base64url').toString());
  return { key, account: head.kid ?? '', payload: payload as Signed['payload'] };
}

async function answer(on: Authority, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const path = request.url ?? '';
  const [, route = '', id = ''] = path.split('/');
  if (on.plays.instead(route, response)) return void request.resume();
  if (request.method === 'GET' || request.method === 'HEAD') return on.read(route, response);
  const signed = await readSigned(on, request);
  await on.answer({ path, route, id, signed, accept: request.headers.accept, response });
}

/** Starts a strict authority by RFC 8555: it checks signature, nonce and URL of every request, and validates names. */
export async function startAcmeServer(name = 'ca.test'): Promise<AcmeServer> {
  const own = makeCertificate({ names: [name], notAfter: new Date(Date.now() + 4000 * 86_400_000) });
  const on = new Authority();
  const server = https.createServer(own, (request, response) => {
    answer(on, request, response).catch((error: unknown) => {
      const refused = error instanceof Refused ? error : new Refused('serverInternal', String(error), 500);
      if (!(error instanceof Refused)) on.violations.push(`the stand-in failed: ${String(error)}`);
      const problem = { type: `urn:ietf:params:acme:error:${refused.type}`, detail: refused.message };
      on.reply(response, refused.status, problem, { 'content-type': 'application/problem+json' });
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  on.base = `https://${name}:${(server.address() as AddressInfo).port}`;
  const { authority, finalized, look, ordered, plays, violations, zone } = on;
  return {
    authority,
    finalized,
    look,
    ordered,
    plays,
    violations,
    zone,
    directory: `${on.base}/dir`,
    trust: [own.cert, authority.root],
    get accounts() {
      return on.accounts.size;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      authority.close();
    },
  };
}

function lookByHttp({ name, token }: Proof, port: number): Promise<string> {
  return new Promise((resolve) => {
    const path = `/.well-known/acme-challenge/${token}`;
    http
      .get({ host: '127.0.0.1', port, path, headers: { host: name }, agent: false }, (response) => {
        text(response).then((said) => resolve(response.statusCode === 200 ? said : `${response.statusCode}`), String);
      })
      .on('error', (error) => resolve(error.message));
  });
}

/** RFC 8737 §3: checks the protocol, the one name, and the digest in its extension. */
function lookByTls(servername: string, wanted: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = tls.connect({
      host: '127.0.0.1',
      port,
      servername,
      ALPNProtocols: ['acme-tls/1'],
      rejectUnauthorized: false,
    });
    socket.on('error', (error) => resolve(error.message));
    socket.on('secureConnect', () => {
      const raw = socket.getPeerCertificate().raw;
      const digest = createHash('sha256').update(wanted).digest('hex');
      const holds =
        socket.alpnProtocol === 'acme-tls/1' &&
        new X509Certificate(raw).checkHost(servername) !== undefined &&
        raw.toString('hex').includes(`06082b0601050507011f0101ff04220420${digest}`);
      resolve(holds ? wanted : 'another certificate');
      socket.destroy();
    });
  });
}
