import { declareAction, declareDetail, withRemaining, type AnswerOf } from './family.ts';

const creditsInWords = ({ credits }: { credits: AnswerOf<'draftEmailBody'>['credits'] }): string =>
  `${credits.remaining} of ${credits.limit} credits are left this month.`;

/** A diagnosis as a person reads it. */
export function diagnosisInWords({ summary, likely_causes: causes, next_steps: steps }: AnswerOf<'diagnoseEmail'>) {
  const listed = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)];
  return [summary, ...listed('Likely causes', causes), ...listed('Next steps', steps)].join('\n');
}

function draftInWords(answer: AnswerOf<'draftEmailBody'>): string {
  const { html, text, new_links: links } = answer;
  const warning = ['', 'Check these addresses, which were not in your input:', ...links.map((one) => `  ${one}`)];
  return [text, '', html, ...(links.length === 0 ? [] : warning), '', creditsInWords(answer)].join('\n');
}

/** Returns null if no plan limits them. */
const creditsLeft = ({ ai_credits: { used, limit } }: AnswerOf<'getUsage'>): number | null =>
  limit === null ? null : Math.max(0, limit - used);

export const ai = withRemaining({
  command: 'ai',
  summary: 'let the model suggest subject lines or draft an email',
  noun: 'a draft',
  get: declareDetail('getUsage', {
    verb: 'get',
    summary: 'show how many AI credits are left this month',
    example: 'ai get',
    fields: {
      ai_credits: { label: 'Credits left', kind: 'number', value: creditsLeft },
      'ai_credits.used': { kind: 'number' },
      'ai_credits.limit': { label: 'Of', kind: 'number' },
      'ai_credits.next_increase_at': 'New ones',
    },
    columns: ['ai_credits', 'ai_credits.used', 'ai_credits.limit', 'ai_credits.next_increase_at'],
  }),
  actions: [
    declareAction('suggestSubjectLines', {
      describe: (answer) => [...answer.suggestions, '', creditsInWords(answer)].join('\n'),
      print: ({ suggestions }) => suggestions.join('\n'),
    }),
    declareAction('draftEmailBody', { describe: draftInWords, print: draftInWords }),
  ],
});
