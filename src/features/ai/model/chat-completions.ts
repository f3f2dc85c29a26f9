import { fieldOf, jsonIn, type Wire } from './wire.ts';

/**
 * Chat completions as OpenAI made them and many others speak them. No number of tokens and no temperature is sent: servers differ
 * in what they call the one, and some models refuse the other.
 */
export const chatCompletions: Wire = {
  request: ({ name, system, user, schema }, { model, key, withSchema }) => ({
    path: '/chat/completions',
    headers: { ...(key === '' ? {} : { authorization: `Bearer ${key}` }) },
    body: {
      model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      stream: false,
      ...(withSchema ? { response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } } } : {}),
    },
  }),
  read(body) {
    const choices = fieldOf(body, 'choices');
    const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const message = fieldOf(first, 'message');
    const content = fieldOf(message, 'content');
    const reason = fieldOf(first, 'finish_reason');
    if (reason === 'length') return { kind: 'cut_off' };
    // A refusal takes the place of the content; a filter leaves out what it does not like of it.
    if (reason === 'content_filter' || isText(fieldOf(message, 'refusal')) || hasRefusal(content)) {
      return { kind: 'refused' };
    }
    return { kind: 'said', json: jsonIn(typeof content === 'string' ? content : textOfParts(content)) };
  },
  isSchemaOptional: true,
};

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

const hasRefusal = (content: unknown): boolean =>
  Array.isArray(content) && content.some((part) => fieldOf(part, 'type') === 'refusal');

function textOfParts(content: unknown): string {
  if (!Array.isArray(content)) return '';
  const texts = content.filter((part) => fieldOf(part, 'type') === 'text').map((part) => fieldOf(part, 'text'));
  return texts.filter((text) => typeof text === 'string').join('');
}
