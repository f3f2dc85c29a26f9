import type { ApiAnswer } from '../../../platform/api-call/index.ts';
import { ProviderFault } from './provider.ts';

interface Envelope {
  success: boolean;
  result: unknown;
  errors: { code: number; message: string }[];
  pages: number;
}

/** Reads the envelope that every answer has; whatever is not one is a fault, and nothing of it is quoted at length. */
export function readEnvelope(provider: string, what: string, answer: ApiAnswer, isWrite: boolean): Envelope {
  const unknownFate = { nothingChanged: !isWrite };
  if (answer.kind === 'failed') {
    const say = `The DNS provider ${provider} could not be asked to ${what}: ${answer.say}.`;
    throw new ProviderFault('unavailable', say, { ...unknownFate, because: answer.because });
  }
  const envelope = parseEnvelope(answer.body);
  if (envelope?.success && answer.status < 300) return envelope;
  const { status } = answer;
  if (!envelope) {
    const say = `The DNS provider ${provider} answered ${status} with something that is not its API's JSON when asked to ${what}.`;
    throw new ProviderFault('unavailable', say, unknownFate);
  }
  const told = envelope.errors.map(({ code, message }) => `${message} (${code})`).join('; ') || 'it does not say why';
  const say = `The DNS provider ${provider} answered ${status} when asked to ${what}: ${told}.`;
  const isTemporary = status === 429 || status >= 500;
  throw new ProviderFault(isTemporary ? 'unavailable' : 'refused', say, {
    nothingChanged: !isWrite || (status >= 400 && status < 500),
  });
}

const ERRORS_MAX = 3;
const MESSAGE_CHARS_MAX = 200;

function parseEnvelope(text: string): Envelope | undefined {
  const value = parseJson(text);
  if (!isObject(value) || typeof value.success !== 'boolean') return undefined;
  const errors = Array.isArray(value.errors) ? value.errors.filter(isObject) : [];
  const info = isObject(value.result_info) ? value.result_info : {};
  return {
    success: value.success,
    result: value.result,
    errors: errors.slice(0, ERRORS_MAX).map(({ code, message }) => ({
      code: typeof code === 'number' ? code : 0,
      message: String(message ?? '')
        .replaceAll(/\p{Cc}/gu, ' ')
        .slice(0, MESSAGE_CHARS_MAX),
    })),
    pages: typeof info.total_pages === 'number' ? info.total_pages : 1,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
