var provenance = window.provenance || {};
provenance.paper = {
 "check@a_bce": {
  "seconds": 2.156,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_eq1": {
  "seconds": 1.239,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@a_eq2": {
  "seconds": 2.261,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@a_fig1": {
  "seconds": 0.992,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "c8011952d1b90fd2"
 },
 "check@a_fig10": {
  "seconds": 4.465,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "27d66255254e4489"
 },
 "check@a_fig11": {
  "seconds": 0.871,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "84ea2fb3a0a290b6"
 },
 "check@a_fig12": {
  "seconds": 2.998,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "02e27ac0f4379ec9"
 },
 "check@a_fig13": {
  "seconds": 1.733,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "3767b47809a5f7ea"
 },
 "check@a_fig14": {
  "seconds": 2.084,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "3767b47809a5f7ea"
 },
 "check@a_fig2": {
  "seconds": 2.163,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "ea2af6a285471661"
 },
 "check@a_fig3": {
  "seconds": 2.032,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "60b7e1cf702baa68"
 },
 "check@a_fig4": {
  "seconds": 3.052,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "242adc29d0492673"
 },
 "check@a_fig5": {
  "seconds": 6.826,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "27d66255254e4489"
 },
 "check@a_fig6": {
  "seconds": 0.539,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "9fc60d72e8971abe"
 },
 "check@a_fig7": {
  "seconds": 1.58,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "d786b30b470a43ac"
 },
 "check@a_fig8": {
  "seconds": 2.898,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "60b7e1cf702baa68"
 },
 "check@a_fig9": {
  "seconds": 3.313,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "2fbc0c67ec435a2d"
 },
 "check@a_lem1": {
  "seconds": 0.874,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_lem2": {
  "seconds": 1.115,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_lem3": {
  "seconds": 10.243,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "5aba1dd6acf52e70"
 },
 "check@a_lem4": {
  "seconds": 1.093,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "6605624af6d7a801"
 },
 "check@a_lem5": {
  "seconds": 1.897,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_ols": {
  "seconds": 1.241,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_prop1": {
  "seconds": 3.443,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "6dde8277c3d1e9ad"
 },
 "check@a_prop2": {
  "seconds": 2.037,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "1857ede92e0208a8"
 },
 "check@a_prop3": {
  "seconds": 1.978,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "1857ede92e0208a8"
 },
 "check@a_prop4": {
  "seconds": 1.986,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "6605624af6d7a801"
 },
 "check@a_thm1": {
  "seconds": 2.126,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@a_thm2": {
  "seconds": 1.515,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_thm3": {
  "seconds": 27.427,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "5aba1dd6acf52e70"
 },
 "check@a_thm4": {
  "seconds": 3.676,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "f759bb2acecec596"
 },
 "check@a_tl": {
  "seconds": 1.43,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "9482a9edcee4bf19"
 },
 "check@a_whiten": {
  "seconds": 12.261,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "69699e1dd52dd6d1"
 },
 "check@b_egop": {
  "seconds": 0.995,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e4d3c08456e49f75"
 },
 "check@b_fig1": {
  "seconds": 0.795,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e4d3c08456e49f75"
 },
 "check@b_fig2": {
  "seconds": 12.71,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig3": {
  "seconds": 1.561,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "4cd4177824bbcfc3"
 },
 "check@b_fig4": {
  "seconds": 4.19,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig5": {
  "seconds": 7.12,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig6": {
  "seconds": 1.609,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "2710472ae882095f"
 },
 "check@b_fig7": {
  "seconds": 13.52,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig8": {
  "seconds": 13.8,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_free": {
  "seconds": 2.197,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "d36f52710c96589b"
 },
 "check@b_prop10": {
  "seconds": 1.381,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "75d267a419c15752"
 },
 "check@b_prop2": {
  "seconds": 0.731,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@b_prop3": {
  "seconds": 4.345,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e50255e1f241a1a7"
 },
 "check@b_prop4": {
  "seconds": 1.369,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e50255e1f241a1a7"
 },
 "check@b_rmt": {
  "seconds": 3.648,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "d8e97013adcf1fe2"
 },
 "check@c_fig1": {
  "seconds": 2.002,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "9757a1b42867dff3"
 },
 "check@c_fig10": {
  "seconds": 1.648,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "26a379995923013b"
 },
 "check@c_fig11": {
  "seconds": 1.374,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "06f319ef43a13777"
 },
 "check@c_fig3": {
  "seconds": 3.008,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "26a379995923013b"
 },
 "check@c_fig4": {
  "seconds": 2.351,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e1a362a3e8794acc"
 },
 "check@c_fig5": {
  "seconds": 2.378,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "9757a1b42867dff3"
 },
 "check@c_fig6": {
  "seconds": 2.379,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "0df566941d0f0aac"
 },
 "check@c_fig7": {
  "seconds": 1.189,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "0df566941d0f0aac"
 },
 "check@c_fig8": {
  "seconds": 1.784,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "26a379995923013b"
 },
 "check@c_fig9": {
  "seconds": 2.468,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "26a379995923013b"
 },
 "check@c_lemd_2": {
  "seconds": 2.627,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e1a362a3e8794acc"
 },
 "check@c_lemf_1": {
  "seconds": 0.945,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a081a59b2744199b"
 },
 "check@c_lemf_2": {
  "seconds": 1.019,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a081a59b2744199b"
 },
 "check@c_prop5_1": {
  "seconds": 2.686,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a081a59b2744199b"
 },
 "check@c_rem3_3": {
  "seconds": 3.855,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "7028c77e443fbd3f"
 },
 "check@c_tab2": {
  "seconds": 2.431,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "d6eb9c4b7af13447"
 },
 "check@c_tab2_cifar10": {
  "seconds": 1.608,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "2097985135d2035a"
 },
 "check@c_tab2_mnist": {
  "seconds": 2.126,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e2e0950751025429"
 },
 "check@c_tab3": {
  "seconds": 1.377,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "5cd8fa646b9fd2c3"
 },
 "check@c_thm3_1": {
  "seconds": 2.245,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "7028c77e443fbd3f"
 },
 "check@c_thm3_4": {
  "seconds": 1.264,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "e1a362a3e8794acc"
 },
 "check@c_thma_1": {
  "seconds": 3.106,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "7028c77e443fbd3f"
 },
 "check@d_alg1": {
  "seconds": 3.198,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "508512ec3e3fab80"
 },
 "check@d_fig1": {
  "seconds": 1.794,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig10": {
  "seconds": 0.733,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "3a1bf0cd8e522f2d"
 },
 "check@d_fig11": {
  "seconds": 0.679,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "62ae4ed3299c9504"
 },
 "check@d_fig2": {
  "seconds": 2.07,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "62ae4ed3299c9504"
 },
 "check@d_fig3": {
  "seconds": 7.169,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig4": {
  "seconds": 8.616,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig5": {
  "seconds": 2.101,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig6": {
  "seconds": 1.975,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig7": {
  "seconds": 1.724,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "3a1bf0cd8e522f2d"
 },
 "check@d_fig8": {
  "seconds": 1.77,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "62ae4ed3299c9504"
 },
 "check@d_lemb_1": {
  "seconds": 0.917,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "1c5859b238ca5723"
 },
 "check@d_lemb_2": {
  "seconds": 1.904,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "1c5859b238ca5723"
 },
 "check@d_propa_1": {
  "seconds": 2.026,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "1c5859b238ca5723"
 },
 "check@d_svd": {
  "seconds": 1.459,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "2c5c3a1dcfd34b1a"
 },
 "check@d_thm4_3": {
  "seconds": 9.177,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "4058e45090594004"
 },
 "check@d_thm4_4": {
  "seconds": 2.053,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "2aeba31b",
  "settings": "a80c1c851b02304c"
 },
 "measure@a_differences": {
  "commit": "173e6d1",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 56.117,
  "torch": "2.15.0+cu132"
 },
 "measure@a_features": {
  "seconds": 236.132,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "5e05dcb",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "242610f76db5dd81"
 },
 "measure@a_fig1": {
  "seconds": 0.696,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "5f3fd49e",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "20e3fbe87b9a59f5"
 },
 "measure@a_fig10": {
  "commit": "8b27606, 8c02327+, 8a4e0b9",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 2222.444,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig11": {
  "seconds": 1511.946,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "6d3d8ea7",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "ed535d4b5a846d11"
 },
 "measure@a_fig12": {
  "seconds": 242.248,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "c8a0a4ed",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "79948de1a636c552"
 },
 "measure@a_fig13": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 105.646,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig2": {
  "commit": "262f0d0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.428,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig4": {
  "seconds": 925.929,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "3d333137",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "d6bd63bdbd762f22"
 },
 "measure@a_fig6": {
  "commit": "abffdf0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 1.392,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig7": {
  "seconds": 446.985,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "e9a1a23b",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "3ac519e829c75f12"
 },
 "measure@a_fig8": {
  "seconds": 49.008,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "8bd95bf4844b5457"
 },
 "measure@a_fig9": {
  "seconds": 37.44,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "486ffa11",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "ef52185c78c1e40e"
 },
 "measure@a_linear": {
  "seconds": 93.612,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1851206",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@a_prop1": {
  "seconds": 59.623,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "6324426c",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "9edc77a7b4c50b9c"
 },
 "measure@a_taylor": {
  "seconds": 50.38,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4441d75",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "32212dfbeda4290d"
 },
 "measure@a_thm3": {
  "seconds": 539.825,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "8654e271",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "d53161974d84a28e"
 },
 "measure@a_thm4": {
  "seconds": 1237.824,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "7241471",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "b7579dc21d5dbf50"
 },
 "measure@a_tl": {
  "seconds": 38.132,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4815e3a6",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f0840482866b1eee"
 },
 "measure@a_whiten": {
  "seconds": 18.478,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "6324426c",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@architectures": {
  "seconds": 80.598,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1851206",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "6e8ce73d5d507bad"
 },
 "measure@b_centerings": {
  "seconds": 43.53,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "22afd4f6",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "3573fee5f2e0eb3a"
 },
 "measure@b_dynamics": {
  "seconds": 12.652,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "dd08cbd3",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@b_fig1": {
  "seconds": 8.15,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4815e3a6",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "1fd244e3caabf452"
 },
 "measure@b_fig3": {
  "seconds": 2378.419,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4815e3a6",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8adf9d643104c77d"
 },
 "measure@b_fig6": {
  "seconds": 54.81,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "edf62b4",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "035a05f13f4c2c74"
 },
 "measure@b_free": {
  "commit": "6e11d1d",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 97.258,
  "torch": "2.15.0+cu132"
 },
 "measure@b_prop10": {
  "commit": "fad3574",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 56.749,
  "torch": "2.15.0+cu132"
 },
 "measure@b_rmt": {
  "commit": "fad3574",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 988.041,
  "torch": "2.15.0+cu132"
 },
 "measure@c_dual": {
  "seconds": 9.176,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "814bcd54",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "1975f0f431fa476c"
 },
 "measure@c_fig11": {
  "seconds": 26.019,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "fbd0ea6e+",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "a4a7604ab365f87a"
 },
 "measure@c_fig8": {
  "seconds": 3389.874,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "165d16f0",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "a96eba494be5303c"
 },
 "measure@c_modular": {
  "seconds": 529.787,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "18435e9f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "5f03c433f087d7f5"
 },
 "measure@c_parity": {
  "seconds": 446.579,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "22afd4f6",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "3532b0462db62f2e"
 },
 "measure@c_quadratic": {
  "seconds": 411.051,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "7241471",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "961082e4df51dc29"
 },
 "measure@c_tab2": {
  "seconds": 742.075,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "476651c",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8ab9d61c96e6d5ad"
 },
 "measure@c_tab2_cifar10": {
  "seconds": 111.269,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "b310261878e7f410"
 },
 "measure@c_tab2_mnist": {
  "seconds": 50.718,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "a82cc71529dbc592"
 },
 "measure@c_tabular": {
  "seconds": 1186.441,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "333e2646+",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "7a6c3478996593b6"
 },
 "measure@critical_points": {
  "commit": "44a5abe",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 21.514,
  "torch": "2.15.0+cu132"
 },
 "measure@d_alg1": {
  "seconds": 30.29,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "6324426c",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8ec2ab3ae22e50fb"
 },
 "measure@d_deep_rfm": {
  "seconds": 20986.25,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "e8ddf78f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "d32b5280acb5100e"
 },
 "measure@d_lemmas": {
  "seconds": 41.036,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "dd08cbd3",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@d_mlp": {
  "seconds": 700.432,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "486ffa11",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "1aa5f720918183f0"
 },
 "measure@d_resnet18": {
  "seconds": 364.891,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "887a350f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "9ab061caa71a2776"
 },
 "measure@d_svd": {
  "seconds": 2.244,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "ab45588",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@d_thm4_3": {
  "seconds": 55.68,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "5f3fd49e",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8c75709bcb90705a"
 },
 "measure@d_thm4_4": {
  "seconds": 30.728,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "ab45588",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f0840482866b1eee"
 },
 "prepare@addition": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.126,
  "torch": "2.15.0+cu132"
 },
 "prepare@benchmarks": {
  "commit": "4b40083, 8c02327+",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 20.119,
  "torch": "2.15.0+cu132"
 },
 "prepare@chain": {
  "commit": "1048de8",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.399,
  "torch": "2.15.0+cu132"
 },
 "prepare@few_digits": {
  "seconds": 5.062,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "9e2428f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "e5c0ad9df22a174e"
 },
 "prepare@few_photos": {
  "seconds": 15.177,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "c8a0a4ed",
  "torch": "2.11.0+cu130",
  "device": "cpu",
  "settings": "685d43fdf1d9705f"
 },
 "prepare@first_points": {
  "seconds": 22.063,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "486ffa11",
  "torch": "2.11.0+cu130",
  "device": "cpu",
  "settings": "8ea639d70e8400c1"
 },
 "prepare@generated": {
  "seconds": 34.003,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "68e2c08",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "d9d874373f6c77e6"
 },
 "prepare@handwriting": {
  "seconds": 6.256,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cpu",
  "settings": "04bb76b1f63b489a"
 },
 "prepare@linear_map": {
  "commit": "b32ab4c",
  "cores": 2,
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.216,
  "torch": "2.15.0+cu132"
 },
 "prepare@photo_benchmarks": {
  "seconds": 14.761,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "486ffa11",
  "torch": "2.11.0+cu130",
  "device": "cpu",
  "settings": "f6d89f7a5e987d04"
 },
 "prepare@photos": {
  "seconds": 14.497,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cpu",
  "settings": "685d43fdf1d9705f"
 },
 "prepare@staircase": {
  "seconds": 0.076,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cpu",
  "settings": "c89741dd2ed4b39f"
 },
 "prepare@swiss_roll": {
  "seconds": 0.023,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "5f3fd49e",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "24ca26760ec170e0"
 },
 "train@a_differences": {
  "commit": "173e6d1",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 3246.117,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig1": {
  "seconds": 2.974,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "5f3fd49e",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "20e3fbe87b9a59f5"
 },
 "train@a_fig10": {
  "commit": "8b27606, 8c02327+",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 15289.928,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig12": {
  "seconds": 468.509,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "c8a0a4ed",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "79948de1a636c552"
 },
 "train@a_fig13": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 3423.529,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig2": {
  "commit": "b32ab4c, 8c02327+, 2d2c407+",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 32983.293,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig4": {
  "seconds": 5365.77,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "fbd0ea6e+",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "d6bd63bdbd762f22"
 },
 "train@a_fig6": {
  "commit": "abffdf0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 7864.528,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig7": {
  "seconds": 6207.131,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "e9a1a23b",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "3ac519e829c75f12"
 },
 "train@a_fig8": {
  "seconds": 105.0,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "8bd95bf4844b5457"
 },
 "train@a_fig9": {
  "seconds": 204.542,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "486ffa11",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "ef52185c78c1e40e"
 },
 "train@b_fig1": {
  "commit": "1048de8",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 14.439,
  "torch": "2.15.0+cu132"
 },
 "train@c_fig11": {
  "seconds": 2946.6,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "fbd0ea6e+",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "a4a7604ab365f87a"
 },
 "train@c_fig8": {
  "seconds": 7966.743,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "fbd0ea6e+",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "a96eba494be5303c"
 },
 "train@c_tab2": {
  "seconds": 6376.241,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "476651c",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8ab9d61c96e6d5ad"
 },
 "train@c_tab2_cifar10": {
  "seconds": 488.0,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "b310261878e7f410"
 },
 "train@c_tab2_mnist": {
  "seconds": 148.0,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "a6b8f78a",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "a82cc71529dbc592"
 },
 "train@d_mlp": {
  "seconds": 456.735,
  "cores": 16,
  "memory_gib": 126,
  "gpu": "NVIDIA H100 80GB HBM3",
  "commit": "486ffa11",
  "torch": "2.11.0+cu130",
  "device": "cuda",
  "settings": "1aa5f720918183f0"
 },
 "train@d_resnet18": {
  "seconds": 11970.311,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "887a350f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "9ab061caa71a2776"
 },
 "verdicts@centered_nfa": {
  "seconds": 0.899,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "66c2d009",
  "settings": "4f53cda18c2baa0c"
 },
 "verdicts@fact": {
  "seconds": 0.09,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "66c2d009",
  "settings": "4f53cda18c2baa0c"
 },
 "verdicts@neural_collapse": {
  "seconds": 0.932,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "66c2d009",
  "settings": "4f53cda18c2baa0c"
 },
 "verdicts@weight_gram": {
  "seconds": 0.102,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "66c2d009",
  "settings": "4f53cda18c2baa0c"
 }
};
