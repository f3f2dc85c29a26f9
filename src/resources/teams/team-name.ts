import { refuse } from '../../platform/refusal/index.ts';

const NAME_CHARS_MAX = 200;

/** One line of 1 to 200 characters, without the spaces around it. */
export function readTeamName(text: string): string {
  const name = text.trim();
  if (/\p{Cc}/u.test(name)) {
    throw refuse('validation_error', { status: 422, say: "A team's name is one line without control characters." });
  }
  if (name === '' || name.length > NAME_CHARS_MAX) {
    throw refuse('validation_error', {
      status: 422,
      say: `A team's name has 1 to ${NAME_CHARS_MAX} characters; got ${name.length}.`,
    });
  }
  return name;
}
