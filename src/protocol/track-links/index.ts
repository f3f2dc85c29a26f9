/**
 * Tracked links: finds the links of an HTML body and the place of its pixel, writes other addresses there, and codes
 * the tokens of those addresses. Every byte that is no link's target stays as it is. It holds no key: MACs are handed in.
 */
export {
  clickToken,
  openToken,
  readClickToken,
  readOlderClickToken,
  readOlderOpenToken,
  readOpenToken,
  type Click,
  type Mac,
  type MailOfDomain,
  type TrackedMail,
} from './token.ts';
export {
  startTagsOf,
  type StartTag,
  findTargets,
  HTML_CHARS_MAX,
  isWebAddress,
  LINKS_MAX,
  trackHtml,
  writeTargets,
  type Targets,
  type TrackOptions,
} from './track-html.ts';
