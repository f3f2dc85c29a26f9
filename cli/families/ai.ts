import type { AnswerOf } from '../client/index.ts';
import { actionOf, detailOf, type Family, type Flag } from './family.ts';

const TEMPLATE: Flag = { flag: 'template', value: '<id>', says: 'a template to work from, by id or alias' };

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
  const warning = [
    '',
    'Look at these addresses, which stood in nothing that you gave:',
    ...links.map((one) => `  ${one}`),
  ];
  return [text, '', html, ...(links.length === 0 ? [] : warning), '', creditsInWords(answer)].join('\n');
}

/** Null where no plan limits them. */
const creditsLeft = ({ ai_credits: { used, limit } }: AnswerOf<'getUsage'>): number | null =>
  limit === null ? null : Math.max(0, limit - used);

export const ai = {
  command: 'ai',
  summary: 'have a model suggest subject lines, or draft an email',
  noun: 'a draft',
  get: detailOf('getUsage', {
    summary: 'show how many answers of the model are left this month',
    example: 'ai get',
    fields: [
      { name: 'ai_credits', label: 'Credits left', kind: 'number', value: creditsLeft },
      { name: 'ai_credits.used', label: 'Used', kind: 'number' },
      { name: 'ai_credits.limit', label: 'Of', kind: 'number' },
      { name: 'ai_credits.next_increase_at', label: 'New ones', kind: 'time' },
    ],
  }),
  actions: [
    actionOf('suggestSubjectLines', {
      verb: 'subject-lines',
      key: 's',
      summary: 'suggest subject lines for an email',
      description:
        'Suggests subject lines. What you give is sent to the model that the operator of the server has chosen; the team has to have switched that on (team update --ai-assist). Each answer costs a credit, and nothing is saved.',
      example: "ai subject-lines --text 'Our shop is closed on Friday.' --audience 'Customers in Berlin'",
      flags: {
        subject: { value: '<text>', says: 'a subject to start from' },
        text: { value: '<text>', says: 'the plain text of the email', fromFile: 'plain text', hasLines: true },
        html: { value: '<html>', says: 'the HTML of the email', fromFile: 'HTML', hasLines: true },
        audience: { value: '<text>', says: 'who reads it, in your own words' },
        template_id: TEMPLATE,
      },
      tell: (answer) => [...answer.suggestions, '', creditsInWords(answer)].join('\n'),
      print: ({ suggestions }) => suggestions.join('\n'),
    }),
    actionOf('draftEmailBody', {
      verb: 'draft',
      key: 'd',
      summary: 'draft the body of an email',
      description:
        'Drafts the plain text and the HTML of an email, and names the addresses in it that stood in nothing that you gave. What you give is sent to the model that the operator of the server has chosen. Nothing is saved or sent; each answer costs a credit.',
      example: "ai draft 'We are closed on Friday and open again on Monday.' --tone friendly",
      flags: {
        brief: { value: '<brief>', says: 'what the email is to say', isWord: true, isRequired: true, hasLines: true },
        tone: { value: '<tone>', says: 'how it is to sound', choices: ['neutral', 'friendly', 'formal'] },
        existing_html: { value: '<html>', says: 'HTML to start from', fromFile: 'HTML', hasLines: true },
        template_id: TEMPLATE,
      },
      tell: draftInWords,
      print: draftInWords,
    }),
  ],
} satisfies Family;
