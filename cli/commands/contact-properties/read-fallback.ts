import { CliFault } from '../../output/index.ts';

/** What was typed, as the property's type has it. */
export function readFallback(type: string, text: string): string | number {
  if (type !== 'number') return text;
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number)) return number;
  throw new CliFault(`--fallback of a number takes a number; got ${JSON.stringify(text)}`, 'usage');
}
