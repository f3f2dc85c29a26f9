import { collectKeys, parseMerge, findMergePlaces, type MergeText, type Place } from '../../protocol/merge.ts';
import { textOfHtml } from '../../protocol/read-message/index.ts';
import {
  closeDrawings,
  disarmHtml,
  embedImages,
  escapeHtml,
  linksIn,
  mayLoadImages,
} from '../../protocol/safe-html/index.ts';
import { findTargets, type Targets } from '../../protocol/track-links/index.ts';
import { defineTextTask, type TextTask } from './text-thread.ts';

/** Finds the keys of merge variables: all of them, and those that occur at least once without a default. */
export const findKeys: TextTask<string, { all: ReadonlySet<string>; bare: ReadonlySet<string> }> = defineTextTask(
  'html.findKeys',
  (text) => {
    const parts = parseMerge(text);
    const bare = parts.filter((part) => typeof part !== 'string' && part.inlineDefault === undefined);
    return { all: collectKeys(parts), bare: collectKeys(bare) };
  },
);

export const findLinkTargets: TextTask<string, Targets> = defineTextTask('html.findLinkTargets', findTargets);

/** Parses a text with merge variables. */
export const parseVariables: TextTask<string, MergeText> = defineTextTask('html.parseVariables', parseMerge);

/** Parses a text with merge variables, and finds the HTML context of each one. */
export const findPlaces: TextTask<string, { text: MergeText; places: readonly Place[] }> = defineTextTask(
  'html.findPlaces',
  (html) => {
    const text = parseMerge(html);
    return { text, places: findMergePlaces(text) };
  },
);

export interface EmailToShow {
  html: string | null;
  text: string | null;
  /** The images of the email as data URLs, by content id. */
  images: ReadonlyMap<string, string>;
  imageCharsMax: number;
  linksMax: number;
}

/** An email as one of our pages may show it, in UTF-8. */
export interface EmailShown {
  /** The HTML as written into the frame's `srcdoc`; undefined for an email without HTML. */
  frame: Uint8Array | undefined;
  mayLoadImages: boolean;
  /** The URLs that the HTML links to, unchanged. */
  links: string[];
  text: Uint8Array | undefined;
}

const utf8 = new TextEncoder();

export const showEmail: TextTask<EmailToShow, EmailShown> = defineTextTask(
  'html.showEmail',
  ({ html, text: written, images, imageCharsMax, linksMax }) => {
    const text = written === null ? undefined : utf8.encode(escapeHtml(written));
    if (html === null) return { frame: undefined, mayLoadImages: false, links: [], text };
    // Images are inserted last: base64 needs no escaping, and there may be megabytes of it.
    const frame = utf8.encode(embedImages(escapeHtml(disarmHtml(closeDrawings(html))), images, imageCharsMax));
    return { frame, mayLoadImages: mayLoadImages(html), links: linksIn(html, linksMax), text };
  },
);

/** Makes the plain text of an HTML body. */
export const makeText: TextTask<string, string> = defineTextTask('html.makeText', textOfHtml);

export const htmlTasks: readonly TextTask<never, unknown>[] = [
  findKeys,
  findLinkTargets,
  findPlaces,
  makeText,
  parseVariables,
  showEmail,
];
