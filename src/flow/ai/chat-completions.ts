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
    const content = fieldOf(fieldOf(first, 'message'), 'content');
    // What was cut off at the longest answer is no answer.
    if (fieldOf(first, 'finish_reason') === 'length') return undefined;
    return typeof content === 'string' ? jsonIn(content) : jsonIn(textOfParts(content));
  },
  isSchemaOptional: true,
};

function textOfParts(content: unknown): string {
  if (!Array.isArray(content)) return '';
  const texts = content.filter((part) => fieldOf(part, 'type') === 'text').map((part) => fieldOf(part, 'text'));
  return texts.filter((text) => typeof text === 'string').join('');
}
