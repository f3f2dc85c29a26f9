import { createHash, createPublicKey, randomBytes, verify, X509Certificate, type JsonWebKey } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { makeCertificateAuthority, type CertificateAuthority, type IssueWishes } from './certificate-authority.ts';
import { makeCertificate } from './tls.ts';

export interface Plays {
  /** So many nonces are refused that are good. */
  badNonces: number;
  /** What is answered instead, by the first part of the path; undefined lets it pass. */
  instead: (route: string, response: http.ServerResponse) => boolean;
  issue: IssueWishes;
  /** What is handed out instead of the chain. */
  chain: ((chain: string) => string) | undefined;
  /** So often an order is said to be in the making. */
  processing: number;
  /** Awaited once an order was finalized, before that is answered. */
  finalized: () => Promise<void> | void;
  /** The window of the renewal information; undefined has none. */
  renewal: { start: string; end: string } | undefined;
}

export interface AcmeServer {
  directory: string;
  /** Certificates in PEM that a client has to trust to reach it. */
  trust: readonly string[];
  authority: CertificateAuthority;
  plays: Plays;
  /** What a client did that RFC 8555 forbids. */
  violations: string[];
  /** Names of every order, and of those that were finalized. */
  ordered: string[];
  finalized: string[];
  accounts: number;
  /** Where names are looked at, whatever their DNS says. */
  look: { httpPort: number; tlsPort: number };
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

/** A strict authority by RFC 8555: it checks signature, nonce and URL of every request, and looks at the names. */
export async function startAcmeServer(name = 'ca.test'): Promise<AcmeServer> {
  const own = makeCertificate({ names: [name], notAfter: new Date(Date.now() + 4000 * 86_400_000) });
  const authority = makeCertificateAuthority();
  const nonces = new Set<string>();
  const accounts = new Map<string, JsonWebKey>();
  const orders: Order[] = [];
  const proofs: Proof[] = [];
  const plays: Plays = {
    ...{ badNonces: 0, processing: 0, chain: undefined, renewal: undefined },
    ...{ instead: () => false, issue: { days: 90 }, finalized: () => undefined },
  };
  const state = { violations: [] as string[], ordered: [] as string[], finalized: [] as string[] };
  const server = https.createServer(own, (request, response) => {
    void answer(request, response).catch((error: unknown) => {
      const refused = error instanceof Refused ? error : new Refused('serverInternal', String(error), 500);
      if (!(error instanceof Refused)) state.violations.push(`the stand-in failed: ${String(error)}`);
      const problem = { type: `urn:ietf:params:acme:error:${refused.type}`, detail: refused.message };
      reply(response, refused.status, problem, { 'content-type': 'application/problem+json' });
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const base = `https://${name}:${(server.address() as AddressInfo).port}`;
  const look = { httpPort: 0, tlsPort: 0 };

  function freshNonce(): string {
    const nonce = randomBytes(16).toString('base64url');
    nonces.add(nonce);
    return nonce;
  }

  function reply(response: http.ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
    const isText = typeof body === 'string';
    response.writeHead(status, {
      ...{ 'content-type': 'application/json', 'replay-nonce': freshNonce(), 'cache-control': 'no-store' },
      ...headers,
    });
    response.end(isText ? body : JSON.stringify(body));
  }

  const wrong = (says: string): Refused => {
    state.violations.push(says);
    return new Refused('malformed', says);
  };

  async function readSigned(request: http.IncomingMessage): Promise<Signed> {
    const body = JSON.parse(await text(request)) as Record<string, string>;
    if (request.headers['content-type'] !== 'application/jose+json') throw wrong('content type');
    if (Object.keys(body).toSorted().join() !== 'payload,protected,signature') throw wrong('fields of the JWS');
    const head = JSON.parse(Buffer.from(body.protected ?? '', 'base64url').toString()) as {
      alg: string;
      nonce: string;
      url: string;
      jwk?: JsonWebKey;
      kid?: string;
    };
    const isNew = request.url === '/acct';
    if (head.alg !== 'ES256') throw wrong(`alg ${head.alg}`);
    if (head.url !== base + request.url) throw wrong(`url ${head.url} at ${request.url}`);
    if ((head.jwk !== undefined) !== isNew || (head.kid !== undefined) === isNew) throw wrong('jwk and kid');
    if (!nonces.delete(head.nonce)) throw new Refused('badNonce', 'an unknown nonce');
    if (plays.badNonces > 0) {
      plays.badNonces--;
      throw new Refused('badNonce', 'refused on purpose');
    }
    const key = head.jwk ?? accounts.get(head.kid ?? '');
    if (!key) throw new Refused('accountDoesNotExist', 'no such account');
    const bytes = Buffer.from(`${body.protected}.${body.payload}`);
    const signature = Buffer.from(body.signature ?? '', 'base64url');
    const publicKey = createPublicKey({ key, format: 'jwk' });
    if (!verify('sha256', bytes, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)) throw wrong('signature');
    const payload =
      body.payload === '' ? undefined : JSON.parse(Buffer.from(body.payload ?? '', 'base64url').toString());
    return { key, account: head.kid ?? '', payload: payload as Signed['payload'] };
  }

  async function answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const [, route = '', id = ''] = (request.url ?? '').split('/');
    if (plays.instead(route, response)) return void request.resume();
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (route === 'dir') return reply(response, 200, directory());
      if (route === 'nonce') return reply(response, 204, '');
      if (route === 'ari' && plays.renewal) return reply(response, 200, { suggestedWindow: plays.renewal });
      throw new Refused('malformed', `GET of ${request.url}`, 405);
    }
    const signed = await readSigned(request);
    if (route === 'acct') return newAccount(signed, response);
    if (route === 'order' && id === '') return newOrder(signed, response);
    const order = orders[Number(id)];
    const proof = proofs[Number(id)];
    if (route === 'authz' || route === 'chall') {
      if (!proof || proof.order.account !== signed.account)
        throw new Refused('unauthorized', 'of another account', 403);
      if (route === 'chall') await lookAt(proof, signed);
      return reply(response, 200, route === 'chall' ? challengeOf(proof, 'http-01') : authorizationOf(proof));
    }
    if (!order || order.account !== signed.account) throw new Refused('malformed', 'no such order', 404);
    if (route === 'order') return reply(response, 200, orderOf(order), { 'retry-after': '1' });
    if (route === 'finalize') return finalize(order, signed, response);
    if (route === 'cert' && order.chain !== undefined) {
      if (request.headers.accept !== 'application/pem-certificate-chain') throw wrong('accept');
      const type = { 'content-type': 'application/pem-certificate-chain' };
      return reply(response, 200, plays.chain?.(order.chain) ?? order.chain, type);
    }
    throw new Refused('malformed', `nothing at ${request.url}`, 404);
  }

  const directory = () => ({
    ...{ newNonce: `${base}/nonce`, newAccount: `${base}/acct`, newOrder: `${base}/order`, meta: {} },
    ...(plays.renewal ? { renewalInfo: `${base}/ari` } : {}),
  });

  function newAccount({ key, payload }: Signed, response: http.ServerResponse): void {
    if (payload?.termsOfServiceAgreed !== true) throw new Refused('userActionRequired', 'agree to the terms');
    const print = createHash('sha256').update(JSON.stringify(key)).digest('base64url');
    const location = `${base}/acct/${print}`;
    const status = accounts.has(location) ? 200 : 201;
    accounts.set(location, key);
    reply(response, status, { status: 'valid' }, { location });
  }

  function newOrder({ account, payload }: Signed, response: http.ServerResponse): void {
    const names = (payload?.identifiers as { value: string }[]).map(({ value }) => value);
    const order: Order = { id: orders.length, account, names, status: 'pending', polls: plays.processing };
    orders.push(order);
    state.ordered.push(names.join(' '));
    for (const each of names)
      proofs.push({ name: each, status: 'pending', token: randomBytes(24).toString('base64url'), order });
    reply(response, 201, orderOf(order), { location: `${base}/order/${order.id}` });
  }

  function orderOf(order: Order): object {
    const own = proofs.filter((proof) => proof.order === order);
    if (order.status === 'pending' && own.every(({ status }) => status === 'valid')) order.status = 'ready';
    if (order.status === 'pending' && own.some(({ status }) => status === 'invalid')) {
      order.status = 'invalid';
      order.error = own.find(({ error }) => error)?.error ?? {};
    }
    if (order.status === 'processing' && order.polls-- <= 0) order.status = 'valid';
    return {
      ...{ status: order.status, identifiers: order.names.map((value) => ({ type: 'dns', value })) },
      authorizations: own.map((proof) => `${base}/authz/${proofs.indexOf(proof)}`),
      finalize: `${base}/finalize/${order.id}`,
      ...(order.error ? { error: order.error } : {}),
      ...(order.status === 'valid' ? { certificate: `${base}/cert/${order.id}` } : {}),
    };
  }

  const challengeOf = (proof: Proof, type: string): object => ({
    ...{ type, token: proof.token, status: proof.status, url: `${base}/chall/${proofs.indexOf(proof)}/${type}` },
    ...(proof.error ? { error: proof.error } : {}),
  });

  const authorizationOf = (proof: Proof): object => ({
    ...{ status: proof.status, identifier: { type: 'dns', value: proof.name } },
    challenges: ['dns-01', 'tls-alpn-01', 'http-01'].map((type) => challengeOf(proof, type)),
  });

  async function lookAt(proof: Proof, { key, payload }: Signed): Promise<void> {
    if (payload === undefined || Object.keys(payload).length > 0) throw wrong('a challenge is begun with {}');
    const { crv, kty, x, y } = key;
    const print = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
    const wanted = `${proof.token}.${print}`;
    const found =
      look.tlsPort > 0 ? await lookByTls(proof.name, wanted, look.tlsPort) : await lookByHttp(proof, look.httpPort);
    proof.status = found === wanted ? 'valid' : 'invalid';
    if (found !== wanted)
      proof.error = {
        type: 'urn:ietf:params:acme:error:unauthorized',
        detail: `${proof.name} answers ${found.slice(0, 40)}`,
      };
  }

  async function finalize(order: Order, { payload }: Signed, response: http.ServerResponse): Promise<void> {
    orderOf(order);
    if (order.status !== 'ready') throw new Refused('orderNotReady', `the order is ${order.status}`, 403);
    const csr = Buffer.from(String(payload?.csr), 'base64url');
    if (authority.namesIn(csr).join() !== order.names.toSorted().join()) throw wrong('names of the request');
    order.chain = authority.issue(csr, plays.issue);
    order.status = 'processing';
    state.finalized.push(order.names.join(' '));
    await plays.finalized();
    reply(response, 200, orderOf(order));
  }

  return {
    ...state,
    ...{ directory: `${base}/dir`, trust: [own.cert, authority.root], authority, plays, look },
    get accounts() {
      return accounts.size;
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

/** RFC 8737 §3: the protocol, the one name, and the digest in its extension. */
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
