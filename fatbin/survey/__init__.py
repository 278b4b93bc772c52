"""What is inside the images, added up: kernels, sizes, differences; and images taken out."""
