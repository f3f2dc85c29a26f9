import { systemServers } from '../../../../platform/resolver/index.ts';
import { stopwatch } from '../../../../platform/clock/index.ts';
import { findingOf } from '../../findings/index.ts';
import { nothingSeen, skipped, type Check, type Examination } from '../check.ts';

/** Asks for names that exist, for how long it takes, and for one that cannot. */
export const checkResolver: Check = async (examination) => {
  const { config, ids } = examination.world;
  if (config.delivery.capture) return skipped('No mail leaves this machine (delivery.capture)');
  const servers = config.dns.servers.length > 0 ? [...config.dns.servers] : systemServers();
  const who = `The resolver (${servers.join(', ') || 'none'})`;
  const names = [config.instance.host, ...config.doctor.mail_servers];
  const seen = nothingSeen();
  // RFC 6761 §6.4: nothing below .invalid exists.
  const [invented, ...answers] = await Promise.all([
    examination.ask(`rasket-${ids.uuid().slice(-12)}.invalid`, 'A'),
    ...names.map((name) => timed(examination, name)),
  ]);
  const times = answers.filter(({ isAnswer }) => isAnswer).map(({ ms }) => ms);
  if (times.length === 0) {
    const reasons = [...new Set(answers.map(({ reason }) => reason))].join(', ');
    const summary = `${who} answers nothing (${reasons}): no mail can be delivered, and nothing that is in DNS can be known.`;
    seen.findings.push(findingOf('resolver_failing', { summary, subjects: servers }));
    return seen;
  }
  if (invented.kind === 'found') {
    const summary = `${who} answers ${invented.records[0] ?? ''} for a name that does not exist: mail to mistyped domains goes there.`;
    seen.findings.push(findingOf('resolver_failing', { summary, subjects: servers }));
  }
  const middle = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  const took = `${Math.round(middle)} ms`;
  if (middle > config.doctor.resolver_ms) {
    const summary = `${who} takes ${took} for an answer, and each delivery waits for several.`;
    seen.findings.push(findingOf('resolver_slow', { summary, subjects: servers }));
  } else seen.says.push(`${who} answers in ${took}`);
  if (times.length < answers.length) {
    const silent = names.filter((_, at) => answers[at]?.isAnswer === false);
    seen.says.push(`Without an answer: ${silent.join(', ')}`);
  }
  return seen;
};

async function timed({ ask }: Examination, name: string): Promise<{ isAnswer: boolean; ms: number; reason: string }> {
  const elapsedMs = stopwatch();
  const answer = await ask(name, 'MX');
  return { isAnswer: answer.kind !== 'failed', ms: elapsedMs(), reason: answer.kind === 'failed' ? answer.reason : '' };
}
