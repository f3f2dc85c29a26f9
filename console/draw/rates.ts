import { styleOf, type Terminal } from '../../cli/output/index.ts';
import { grouped, type Tone } from '../../cli/families/index.ts';

/** From where mailbox providers begin to look, and from where they begin to refuse (percent). */
const LIMITS = { bounced: [4, 10], complained: [0.1, 0.3] } as const;

/** A count with its rate, and whether that is high: in words beside the colour. */
export function rateInWords(
  terminal: Terminal,
  what: keyof typeof LIMITS,
  { count = 0, rate = 0, name = '' }: { count?: number | undefined; rate?: number | undefined; name?: string },
): string {
  const [high, tooHigh] = LIMITS[what];
  const tone: Tone = rate >= tooHigh ? 'bad' : rate >= high ? 'attention' : 'plain';
  const words = { plain: '', good: '', attention: ' ! high', bad: ' ✗ too high' }[tone];
  return terminal.paint(styleOf(tone), `${grouped(count)}${name} (${rate} %)${words}`);
}
