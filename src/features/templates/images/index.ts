/**
 * Images: pictures for mail, shown in mail by its address. They promise that the same bytes of a team are stored once, that an
 * address is never guessed and never leads to another picture, and that nothing but a PNG, JPEG, GIF or WebP is served. What
 * the bytes draw is never looked at.
 */
export {
  createImage,
  deleteImage,
  getImage,
  imageOfToken,
  imagesShownIn,
  lookUpImages,
  listImages,
  noteImagesOf,
  openImage,
  type ImagesShown,
  tokenInPath,
} from './images.ts';
export { imagesAmong, type ImageRow } from './images.store.ts';
