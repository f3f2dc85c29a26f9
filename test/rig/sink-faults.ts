export type FaultPhase = 'mail' | 'rcpt' | 'data' | 'in-data' | 'dot';

export interface Fault {
  phase: FaultPhase;
  act: 'reply' | 'drop' | 'hang' | 'gate';
  reply?: string;
  /** Whether it fails the first time only. */
  isOnce?: boolean;
}

const NAMED: Record<string, Fault | undefined> = {
  'drop-at-mail': { phase: 'mail', act: 'drop' },
  'drop-at-rcpt': { phase: 'rcpt', act: 'drop' },
  'drop-at-data': { phase: 'data', act: 'drop' },
  'drop-in-data': { phase: 'in-data', act: 'drop' },
  'drop-after-dot': { phase: 'dot', act: 'drop' },
  'timeout-after-dot': { phase: 'dot', act: 'hang' },
  slow: { phase: 'dot', act: 'gate' },
  'slow-rcpt': { phase: 'rcpt', act: 'gate' },
};

/**
 * Returns the fault that an address requests by its local part; `own` is the command with the address, where a fault
 * happens unless it names another place: tempfail, tempfail-once, permfail, timeout, NNN-anything, and with the prefix
 * `data-` or `dot-` later; or one of the names above. Anything after a plus is ignored.
 */
export function parseFault(address: string, own: 'mail' | 'rcpt'): Fault | undefined {
  const at = address.lastIndexOf('@');
  const local = (at === -1 ? address : address.slice(0, at)).split('+', 1)[0] ?? '';
  const named = NAMED[local];
  if (named) return named;
  const place = /^(data|dot)-(.*)$/.exec(local);
  const phase = (place?.[1] as FaultPhase | undefined) ?? own;
  const what = place?.[2] ?? local;
  if (what === 'timeout') return { phase, act: 'hang' };
  if (what === 'tempfail') return { phase, act: 'reply', reply: '451 4.3.0 Try again later' };
  if (what === 'tempfail-once') return { phase, act: 'reply', reply: '451 4.7.1 Greylisted', isOnce: true };
  if (what === 'permfail') return { phase, act: 'reply', reply: '550 5.1.1 No such user' };
  const coded = /^([45]\d\d)-(.*)$/.exec(what);
  if (!coded) return undefined;
  const code = coded[1] ?? '';
  return { phase, act: 'reply', reply: `${code} ${code.charAt(0)}.0.0 ${(coded[2] ?? '').replaceAll('-', ' ')}` };
}
