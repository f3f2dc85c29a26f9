import { explainAbsence } from './absent-rules.ts';
import { forbidsNothing } from './caa-rules.ts';
import { probeName } from './further-questions.ts';
import { judgeAnswer } from './judge.ts';
import { questionKey, type Answer, type Judgement, type Observations, type Wanted } from './observations.ts';
import { explainSilence, explainUnseen, publishedByNow } from './published-rules.ts';
import { listed, shown } from './shown.ts';

/** Room for three long names. */
const SENTENCE_CHARS_MAX = 600;

/**
 * One sentence about one record: the verdict is that of the check, the sentence says what everything that was observed
 * explains best. `word` is the label that the probe for wildcards was asked with.
 */
export function diagnose(wanted: Wanted, seen: Observations, word = ''): Judgement {
  const checked = judgeAnswer(wanted, seen.checked, seen);
  const sentence = checked.verdict === 'right' ? checked.sentence : explain(wanted, seen, word);
  return { verdict: checked.verdict, sentence: sentence === null ? null : shown(sentence, SENTENCE_CHARS_MAX) };
}

function explain(wanted: Wanted, seen: Observations, word: string): string {
  const judged = (seen.zone?.servers ?? []).flatMap((server) =>
    server.state === 'answers' && server.answer
      ? [{ server, answer: server.answer, judgement: judgeAnswer(wanted, server.answer, seen) }]
      : [],
  );
  if (judged.some(({ judgement }) => judgement.verdict === 'right')) return explainUnseen(wanted, seen, judged);
  // What a name server says is worse than what it does not say.
  const said = judged.find(({ judgement }) => judgement.verdict === 'wrong') ?? judged[0];
  if (!said) return withoutAuthority(wanted, seen);
  if (wanted.type === 'CAA' && said.judgement.verdict === 'absent') return forbidsNothing(wanted);
  return (
    aliased(wanted, seen, said.answer, word) ??
    wildcard(wanted, seen, said.answer, word) ??
    (said.judgement.verdict === 'wrong' ? said.judgement.sentence : null) ??
    explainAbsence(wanted, seen, said.answer)
  );
}

/**
 * A resolver inside a network may know names that nobody outside does: what it says is only passed on when the zone has a
 * name server that everybody can reach.
 */
function withoutAuthority(wanted: Wanted, seen: Observations): string {
  const isPublic = seen.zone?.servers.some(({ state }) => state !== 'private' && state !== 'nameless') ?? false;
  const { resolver = seen.checked } = seen;
  const judgement = judgeAnswer(wanted, resolver, seen);
  if (isPublic && judgement.verdict === 'wrong' && judgement.sentence !== null && !hasAlias(resolver))
    return judgement.sentence;
  if (isPublic && judgement.verdict === 'right') return publishedByNow(wanted);
  return explainSilence(wanted, seen);
}

const hasAlias = (answer: Answer): boolean => answer.kind !== 'failed' && answer.aliases.length > 0;

/** RFC 1034 §3.6.2: where a CNAME stands no other record can. What stands at its end is not quoted: it is somebody else's. */
function aliased(wanted: Wanted, seen: Observations, answer: Answer, word: string): string | undefined {
  const further = seen.further?.get(questionKey({ name: wanted.name, type: 'CNAME' }));
  const own = answer.kind === 'failed' ? [] : answer.aliases;
  const target = own[0] ?? (further?.kind === 'found' && wanted.type !== 'CNAME' ? further.records[0] : undefined);
  if (target === undefined || wanted.type === 'CNAME') return undefined;
  const probe = probed(wanted, seen, word);
  const isWild = probe !== undefined && probe.kind !== 'failed' && probe.aliases[0] === target;
  if (isWild) {
    return `Nothing stands at ${wanted.name} itself: the wildcard ${wildcardOf(wanted)} answers for it with an alias (CNAME) of ${shown(target, 100)}; publish the record shown, which goes before the wildcard.`;
  }
  return `${wanted.name} is an alias (CNAME) of ${shown(target, 100)}, and where a CNAME stands no ${wanted.type} record can (RFC 1034 §3.6.2); remove the CNAME record.`;
}

function wildcard(wanted: Wanted, seen: Observations, answer: Answer, word: string): string | undefined {
  const probe = probed(wanted, seen, word);
  if (answer.kind !== 'found' || probe?.kind !== 'found') return undefined;
  const sets = [answer, probe].map(({ records }) => [...records].sort().join('\n'));
  if (sets[0] !== sets[1]) return undefined;
  return `Nothing stands at ${wanted.name} itself: the wildcard ${wildcardOf(wanted)} answers for it with ${listed(
    answer.records.map((record) => `"${shown(record, 40)}"`),
    2,
  )}; publish the record shown, which goes before the wildcard.`;
}

const wildcardOf = (wanted: Wanted): string => `*.${wanted.name.split('.').slice(1).join('.')}`;

const probed = (wanted: Wanted, seen: Observations, word: string): Answer | undefined =>
  word === '' ? undefined : seen.further?.get(questionKey({ name: probeName(wanted, word), type: wanted.type }));
