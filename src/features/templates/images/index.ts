/**
 * Images: pictures for mail, shown in mail by its address. They promise that the same bytes of a team are stored once, that an
 * address is never guessed and never leads to another picture, and that nothing but a PNG, JPEG, GIF or WebP is served. What
 * the bytes draw is never looked at.
 */
export { createImage } from './create-image.ts';
export { deleteImage } from './delete-image.ts';
export {
  getImage,
  imageOfToken,
  imagesShownIn,
  lookUpImages,
  listImages,
  noteImagesOf,
  openImage,
  type ImagesShown,
} from './read-images.ts';
export { tokenInPath } from './image-address.ts';
export { imagesAmong, type ImageRow } from './images.store.ts';
