import type { OauthErrorCode } from '../../../contract/index.ts';

/** The second is said to an app by way of the browser alone. */
export type RefusalCode = OauthErrorCode | 'unsupported_response_type';

const STATUS: Partial<Record<RefusalCode, number>> = { invalid_client: 401, invalid_token: 401 };

/** The fault of an app in a step of OAuth, in the words of RFC 6749 and RFC 7591. */
export class OauthRefusal extends Error {
  override readonly name = 'OauthRefusal';
  readonly error: RefusalCode;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(error: RefusalCode, say: string, retryAfterSeconds?: number) {
    super(describable(say));
    this.error = error;
    this.status = retryAfterSeconds === undefined ? (STATUS[error] ?? 400) : 429;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const oauthRefusal = (error: RefusalCode, say: string): OauthRefusal => new OauthRefusal(error, say);

/** RFC 6749 §5.2: a description has no quotation marks, no backslashes, and ASCII alone. */
export const describable = (say: string): string => say.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?');
