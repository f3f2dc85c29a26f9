import type { ErrorBody } from '../../src/contract/index.ts';
import { listOfAdvice, type Advice } from './advice.ts';
import type { ContractId } from './routes.ts';

type CalledWith = 'path' | 'query' | 'sent';

/** The server responded with a refusal. */
export class ApiFault extends Error {
  readonly operation: ContractId;
  /** The parameters of the call and the body that it sent. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly sent: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** The response as received; its `name` and status say what to do, its message is for people. */
  readonly body: ErrorBody;
  readonly requestId: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(fault: Omit<ApiFault, keyof Error | CalledWith> & Partial<Pick<ApiFault, CalledWith>>) {
    super(fault.body.message);
    this.operation = fault.operation;
    this.path = fault.path ?? {};
    this.query = fault.query ?? {};
    this.sent = fault.sent ?? {};
    this.status = fault.status;
    this.body = fault.body;
    this.requestId = fault.requestId;
    this.retryAfterSeconds = fault.retryAfterSeconds;
  }
}

/**
 * No response of this API: nobody listens, the name is unknown, the certificate is not trusted, or it is another
 * program.
 */
export class NoAnswer extends Error {
  readonly url: string;
  /** Steps that may help. */
  readonly advice: readonly Advice[];
  /** True when the request may have been executed although its response was lost. */
  readonly isInDoubt: boolean;
  /** True when the server has a certificate that it made itself. */
  readonly isSelfSigned: boolean;

  constructor(fault: {
    url: string;
    cause: string;
    advice: Advice | readonly Advice[];
    isInDoubt?: boolean;
    isSelfSigned?: boolean;
  }) {
    super(fault.cause);
    this.url = fault.url;
    this.advice = listOfAdvice(fault.advice);
    this.isInDoubt = fault.isInDoubt ?? false;
    this.isSelfSigned = fault.isSelfSigned ?? false;
  }
}

interface Cause {
  /** A number for a `DOMException`. */
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

const LOOK: Advice = { words: 'Next: find the cause with', command: ['doctor'] };
/** Another server is selected when a command or the console is started. */
export const NAME_ANOTHER: Advice = { words: 'Choose another server with --url or --profile.', isForLine: true };
export const NAME_IT: Advice = {
  words: 'Next: log in at the right address with',
  command: ['login', '--url', 'URL'],
};
/** Reports that the responding program is not a server of this API. */
export const anotherProgram = (url: string): NoAnswer =>
  new NoAnswer({ url, cause: `${url} does not run rasket: another program listens there.`, advice: NAME_IT });

const START: readonly Advice[] = [
  { words: 'If it should be running here, start it with', command: ['serve', '--data', 'FOLDER'] },
  { words: 'Or start a development server, as npm start does, with', command: ['dev'] },
];

/** Reports whether hosts on the way can read what is sent there. */
export const isInClear = (url: string): boolean =>
  new URL(url).protocol === 'http:' && !isLoopback(new URL(url).hostname);

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** Puts the codes of the network and of TLS into words. */
export function noAnswer({ url, method, timeoutMs }: Call, error: unknown): NoAnswer {
  const isInDoubt = method !== 'GET';
  const { hostname } = new URL(url);
  // `fetch` wraps the cause in an error of its own.
  const { name, cause = error as Cause } = error as { name?: string; cause?: Cause };
  const code = typeof cause.code === 'string' ? cause.code : '';
  if (name === 'TimeoutError') {
    return new NoAnswer({
      url,
      cause: `${url} did not answer within ${timeoutMs / 1000} s.`,
      advice: LOOK,
      isInDoubt,
    });
  }
  switch (code) {
    case 'ECONNREFUSED':
      return new NoAnswer({
        url,
        cause: `No server is listening at ${url}.`,
        // A server cannot be started here for another machine's address.
        advice: isLoopback(hostname) ? START : [NAME_ANOTHER, { words: 'Next: start the server there.' }],
      });
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new NoAnswer({
        url,
        cause: `The name ${hostname} has no address (${code}).`,
        advice: NAME_IT,
      });
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'UND_ERR_CONNECT_TIMEOUT':
    // Without `connect` it concerns an established connection whose other end is gone.
    case cause.syscall === 'connect' ? 'ETIMEDOUT' : undefined:
      return new NoAnswer({ url, cause: `${url} cannot be reached (${code}).`, advice: LOOK });
    default:
  }
  if (cause.message === 'bad port') {
    const refused = `Port ${new URL(url).port} belongs to another protocol, and HTTP clients refuse it.`;
    return new NoAnswer({ url, cause: refused, advice: NAME_IT });
  }
  if (code.startsWith('HPE_')) {
    const cause = `The program at ${url} does not speak HTTP (${code}).`;
    return new NoAnswer({ url, cause, advice: NAME_IT, isInDoubt });
  }
  if (/EPROTO|CERT|SSL|TLS|ISSUER|SIGNATURE|ALTNAME/.test(code)) {
    return new NoAnswer({
      url,
      cause: `The certificate of ${url} is not trusted (${code}); set NODE_EXTRA_CA_CERTS to the certificate of its authority.`,
      advice: { words: 'Then check again with', command: ['doctor'] },
      isSelfSigned: code === 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
  }
  const what = code || (cause.message ?? String(error));
  return new NoAnswer({
    url,
    cause: `The connection to ${url} was lost before the response arrived (${what}).`,
    advice: LOOK,
    isInDoubt,
  });
}

/** A fault of the address, the key or the file that contains them. */
export class CredentialsFault extends Error {
  /** True when the typed value cannot be a credential; otherwise it is one that does not work here. */
  readonly isMisuse: boolean;

  readonly advice: Advice | undefined;

  constructor(message: string, { isMisuse = false, advice }: { isMisuse?: boolean; advice?: Advice } = {}) {
    super(message);
    this.isMisuse = isMisuse;
    this.advice = advice;
  }
}
