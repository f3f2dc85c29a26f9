import { isUuid } from '../../platform/ids/index.ts';
import { refuse } from '../../platform/refusal/index.ts';

const NAME_CHARS_MAX = 200;

/**
 * Invisible characters that make a name look like another one: controls, line breaks, bidirectional and zero-width
 * characters.
 */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/**
 * Returns the trimmed name: one line of 1 to 200 visible characters. Throws if its slug would have the form of an id.
 */
export function readTeamName(text: string): string {
  const name = text.trim();
  if (UNSEEN.test(name)) {
    throw refuse('validation_error', {
      status: 422,
      say: "A team's name is one line without control, bidirectional and zero-width characters; remove them.",
    });
  }
  if (isUuid(slugOf(name))) {
    throw refuse('validation_error', {
      status: 422,
      say: "A team's name must not have the form of an id, because teams are also named by their ids; choose another.",
    });
  }
  if (!SEEN.test(name) || name.length > NAME_CHARS_MAX) {
    throw refuse('validation_error', {
      status: 422,
      say: `A team's name has 1 to ${NAME_CHARS_MAX} characters; got ${name.length}.`,
    });
  }
  return name;
}

/**
 * Makes the slug of a name. Letters of every script are kept; otherwise all names in another script would share a slug.
 */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '');
  return [...slug].slice(0, 60).join('') || 'team';
}
