import type { ErrorBody } from '../../src/contract/index.ts';
import type { ContractId } from './routes.ts';

/** The server answered, and the answer is no. */
export class ApiFault extends Error {
  readonly operation: ContractId;
  /** What the call named. */
  readonly path: Readonly<Record<string, string>>;
  readonly status: number;
  /** The answer as it came; its `name` and status say what to do, its message is for people. */
  readonly body: ErrorBody;
  readonly requestId: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(fault: Omit<ApiFault, keyof Error | 'path'> & Partial<Pick<ApiFault, 'path'>>) {
    super(fault.body.message);
    this.operation = fault.operation;
    this.path = fault.path ?? {};
    this.status = fault.status;
    this.body = fault.body;
    this.requestId = fault.requestId;
    this.retryAfterSeconds = fault.retryAfterSeconds;
  }
}

/** There was no answer of this API: nobody listens, the name is unknown, the certificate is not trusted, or it is another program. */
export class NoAnswer extends Error {
  readonly url: string;
  /** What would help, for a person to type. */
  readonly next: string;
  /** True when the request may have been carried out although its answer was lost. */
  readonly isInDoubt: boolean;

  constructor(fault: { url: string; cause: string; next: string; isInDoubt?: boolean }) {
    super(fault.cause);
    this.url = fault.url;
    this.next = fault.next;
    this.isInDoubt = fault.isInDoubt ?? false;
  }
}

interface Cause {
  /** A number where it is of a `DOMException`. */
  code?: string | number;
  syscall?: string;
  message?: string;
}

interface Call {
  url: string;
  /** GET changes nothing, however far it came. */
  method: string;
  timeoutMs: number;
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** Puts the codes of the network and of TLS into words. */
export function noAnswer({ url, method, timeoutMs }: Call, error: unknown): NoAnswer {
  const isInDoubt = method !== 'GET';
  const { hostname } = new URL(url);
  // `fetch` puts what happened behind an error of its own.
  const { name, cause = error as Cause } = error as { name?: string; cause?: Cause };
  const code = typeof cause.code === 'string' ? cause.code : '';
  if (name === 'TimeoutError') {
    return new NoAnswer({
      url,
      cause: `${url} did not answer within ${timeoutMs / 1000} s.`,
      next: 'rasket doctor',
      isInDoubt,
    });
  }
  switch (code) {
    case 'ECONNREFUSED':
      return new NoAnswer({
        url,
        cause: `Nothing answers at ${url}.`,
        // Nobody starts a server here that is to answer elsewhere.
        next: isLoopback(hostname)
          ? 'start the server again: rasket dev or rasket serve with its --data (or npm start)'
          : 'start the server there, or name another with --url or --profile',
      });
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new NoAnswer({
        url,
        cause: `The name ${hostname} has no address (${code}).`,
        next: 'rasket login --url URL',
      });
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'UND_ERR_CONNECT_TIMEOUT':
    // Without `connect` it is of a connection that stood, whose other end is gone.
    case cause.syscall === 'connect' ? 'ETIMEDOUT' : undefined:
      return new NoAnswer({ url, cause: `${url} cannot be reached (${code}).`, next: 'rasket doctor' });
    default:
  }
  if (cause.message === 'bad port') {
    const refused = `Port ${new URL(url).port} belongs to another protocol, and HTTP clients refuse it.`;
    return new NoAnswer({ url, cause: refused, next: 'rasket login --url URL' });
  }
  if (code.startsWith('HPE_')) {
    const cause = `What listens at ${url} speaks another protocol than HTTP (${code}).`;
    return new NoAnswer({ url, cause, next: 'rasket login --url URL', isInDoubt });
  }
  if (/EPROTO|CERT|SSL|TLS|ISSUER|SIGNATURE|ALTNAME/.test(code)) {
    return new NoAnswer({
      url,
      cause: `The certificate of ${url} is not trusted (${code}); name its authority in NODE_EXTRA_CA_CERTS.`,
      next: 'NODE_EXTRA_CA_CERTS=ca.pem rasket doctor',
    });
  }
  const what = code || (cause.message ?? String(error));
  return new NoAnswer({
    url,
    cause: `The connection to ${url} broke before the answer came (${what}).`,
    next: 'rasket doctor',
    isInDoubt,
  });
}
