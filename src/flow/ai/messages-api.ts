import { fieldOf, type Wire } from './wire.ts';

/** The longest answer that all of its models give; a draft of a hundred thousand characters is shorter. */
const TOKENS_MAX = 8192;

/** The messages API of Anthropic. Its answer is the input of a tool that it has to call. */
export const messagesApi: Wire = {
  request: ({ name, system, user, schema }, { model, key }) => ({
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01', ...(key === '' ? {} : { 'x-api-key': key }) },
    body: {
      model,
      max_tokens: TOKENS_MAX,
      system,
      messages: [{ role: 'user', content: user }],
      tools: [{ name, description: 'Takes the answer.', input_schema: schema }],
      tool_choice: { type: 'tool', name },
    },
  }),
  read(body) {
    if (fieldOf(body, 'stop_reason') === 'max_tokens') return undefined;
    const content = fieldOf(body, 'content');
    const parts: unknown[] = Array.isArray(content) ? content : [];
    return fieldOf(
      parts.find((part) => fieldOf(part, 'type') === 'tool_use'),
      'input',
    );
  },
  isSchemaOptional: false,
};
