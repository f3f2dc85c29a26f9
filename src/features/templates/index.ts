/**
 * Images for mail, shown by their address. The same bytes of a team are stored once, an address cannot be guessed and
 * never leads to another image, and only PNG, JPEG, GIF and WebP are served. The pictures themselves are not examined.
 */
export { imagesAmong, type ImageRow } from './images/images.store.ts';
export {
  createImage,
  imageOfToken,
  imagesShownIn,
  lookUpImages,
  noteBroadcastImages,
  openImage,
  tokenInPath,
  type ImagesShown,
} from './images/images.ts';

/**
 * Templates: stored messages with variables. Changes go to a draft; sends use the version that was published last, which never
 * changes again. Rendering inserts each value once, escaped in HTML. Nothing here sends mail or knows recipients.
 */
export {
  findNamedContent,
  findPublishedContent,
  findPublishedTemplate,
  findPublishedVersion,
  findVersionContent,
  type PublishedContent,
  type PublishedTemplate,
  type PublishedVersion,
} from './templates/published-versions.ts';
export { readValues, resolveTemplate, valueFaults } from './templates/resolve-template.ts';
export { messageFaults, readList } from './templates/template-content.ts';
export { findTemplate } from './templates/templates.store.ts';
export { createTemplate, getTemplate, listTemplates, publishTemplate } from './templates/templates.ts';
export { textTasks } from './templates/resolve-template.ts';
