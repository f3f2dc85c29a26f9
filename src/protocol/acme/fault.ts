/** What went wrong with an authority, in one line that may be shown to an operator. */
export class AcmeFault extends Error {
  override name = 'AcmeFault';
  /** The last word of the type of a problem document, such as `rateLimited`; empty where there was none. */
  readonly problem: string;
  /** How long the authority asks to be left alone; undefined where it does not. */
  readonly waitMs: number | undefined;

  constructor(message: string, { problem = '', waitMs }: { problem?: string; waitMs?: number | undefined } = {}) {
    super(inOneLine(message, TEXT_CHARS_MAX));
    this.problem = problem;
    this.waitMs = waitMs;
  }
}

const TEXT_CHARS_MAX = 500;

/** Text of others, without what would break a line or a terminal. */
export function inOneLine(text: string, charsMax: number): string {
  const clean = text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return clean.length > charsMax ? `${clean.slice(0, charsMax - 1)}…` : clean;
}
